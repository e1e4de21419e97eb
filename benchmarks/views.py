"""What the API is measured beside: the least a Django view can do durably, and the least it can do."""

import json

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from benchmarks.models import Entry


@csrf_exempt
@require_POST
def insert(request: HttpRequest) -> JsonResponse:
    """One row, committed and on disk before the answer."""
    body = json.loads(request.body)
    entry = Entry.objects.create(name=body["name"], payload=body["payload"])
    return JsonResponse({"id": entry.pk, "name": entry.name}, status=201)


@csrf_exempt
def nothing(request: HttpRequest) -> HttpResponse:
    return HttpResponse(status=204)
