from typing import Any

from django.db import migrations, models


def end_those_that_only_a_page_knew(apps: Any, schema_editor: Any) -> None:
    """What they matched was known as an address of the console only, and workers cannot read that."""
    begun = apps.get_model("scheduling", "Sweep").objects.filter(state="under way")
    begun.exclude(filters="").update(
        state="cancelled", note="Ended by an upgrade: the rest is as it was. Begin it again."
    )


class Migration(migrations.Migration):
    dependencies = [
        ("scheduling", "0013_waiting_by_lane"),
    ]

    operations = [
        migrations.AddField(
            model_name="sweep",
            name="asked",
            field=models.JSONField(default=dict, help_text="The same as it is looked for. Empty: all."),
        ),
        migrations.AlterField(
            model_name="sweep",
            name="operation",
            field=models.CharField(
                choices=[("redrive", "redriven"), ("discard", "discarded")], max_length=10
            ),
        ),
        migrations.RunPython(end_those_that_only_a_page_knew, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name="recurringtask",
            index=models.Index(
                condition=models.Q(("disabled_reason", ""), _negated=True),
                fields=["id"],
                name="recurring_disabled",
            ),
        ),
    ]
