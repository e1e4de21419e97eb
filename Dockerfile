# One image for web servers, workers and commands; docs/deployment.md says how to run each.

FROM python:3.13-slim-bookworm AS build
WORKDIR /opt/rentroll
COPY requirements.txt ./
# Exactly what was pinned, and nothing that would have to be built.
RUN python -m venv .venv \
    && .venv/bin/pip install --no-cache-dir --disable-pip-version-check \
        --require-hashes --no-deps --only-binary :all: -r requirements.txt \
    && .venv/bin/pip check
COPY manage.py deploy/healthcheck.py ./
COPY config ./config
COPY scheduling ./scheduling
COPY tenants ./tenants
COPY templates ./templates
RUN .venv/bin/python -m compileall -q config scheduling tenants

FROM python:3.13-slim-bookworm
# A number, by which Kubernetes can tell that it is not root. The code is root's: who runs cannot change it.
RUN groupadd --system --gid 10001 rentroll \
    && useradd --system --uid 10001 --gid rentroll --no-create-home rentroll \
    && install --directory --owner=rentroll --group=rentroll --mode=0700 /var/lib/rentroll
COPY --from=build /opt/rentroll /opt/rentroll
WORKDIR /opt/rentroll
ENV PATH=/opt/rentroll/.venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    DATA_DIR=/var/lib/rentroll \
    BIND=0.0.0.0 \
    PORT=8000
VOLUME /var/lib/rentroll
EXPOSE 8000
USER 10001:10001
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "healthcheck.py"]
CMD ["python", "-m", "gunicorn", "-c", "python:config.gunicorn", "config.wsgi"]
