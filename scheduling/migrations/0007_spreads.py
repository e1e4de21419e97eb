from django.db import migrations, models

BOUNDS = ("10ms", "50ms", "100ms", "500ms", "1s", "5s", "10s", "30s", "1m", "5m", "30m")
SPREADS = [f"{figure}_{bound}" for figure in ("waited", "ran") for bound in BOUNDS]
COUNTS = ("succeeded", "retried", "dead", "cancelled", "lost")
ENDED = "Attempts, snoozed and released ones too: those that the rest is of."
SECONDS = {
    "wait_seconds": "Summed over the attempts: due to claimed.",
    "run_seconds": "Summed over the attempts: claimed to ended.",
}


def count(**options):
    return models.BigIntegerField(default=0, **options)


class Migration(migrations.Migration):

    dependencies = [
        ("scheduling", "0006_recurring_tasks"),
    ]

    operations = [
        *(migrations.AlterField("throughput", name, count()) for name in COUNTS),
        *(
            migrations.AlterField(model, name, models.FloatField(default=0, help_text=text))
            for model in ("hour", "total")
            for name, text in SECONDS.items()
        ),
        migrations.AlterField(
            "total",
            "refused",
            count(db_default=0, help_text="Stale workers; no minute has these."),
        ),
        *(
            migrations.AddField(model, name, count(db_default=0, **options))
            for model in ("throughput", "hour", "total")
            for name, options in (("ended", {"help_text": ENDED}), *((one, {}) for one in SPREADS))
        ),
    ]
