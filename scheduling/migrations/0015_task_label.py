"""Tasks may have a label, by which people find them again. A task without one is in neither index."""

from typing import Any

from django.db import migrations, models


def take_labels_for_rare(apps: Any, schema_editor: Any) -> None:
    """PostgreSQL keeps no statistics of them, and so finds them by their index.

    Knowing that one is frequent, it would walk through tasks in their order until it has met enough of that label:
    through all that are newer, when none of these has it.
    """
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("ALTER TABLE scheduling_task ALTER COLUMN label SET STATISTICS 0")


class Migration(migrations.Migration):
    dependencies = [
        ("scheduling", "0014_sweeps_by_workers"),
    ]

    operations = [
        migrations.AddField(
            model_name="task",
            name="label",
            field=models.CharField(
                blank=True,
                help_text="By which a person finds it again. It means nothing to the ledger.",
                max_length=200,
                null=True,
            ),
        ),
        migrations.RunPython(take_labels_for_rare, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name="task",
            index=models.Index(
                condition=models.Q(("label__isnull", False)),
                fields=["tenant", "label", "id"],
                name="task_label",
            ),
        ),
        migrations.AddIndex(
            model_name="task",
            index=models.Index(
                condition=models.Q(("label__isnull", False)),
                fields=["label", "id"],
                name="task_label_of_all",
            ),
        ),
    ]
