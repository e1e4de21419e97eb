from django.db import migrations, models

BOUNDS = ("1ms", "2500us", "5ms", "10ms", "25ms", "50ms", "100ms", "250ms", "500ms", "1s", "5s")


class Migration(migrations.Migration):

    dependencies = [
        ("scheduling", "0007_spreads"),
    ]

    operations = [
        migrations.CreateModel(
            name="Pace",
            fields=[
                ("verb", models.CharField(max_length=10, primary_key=True, serialize=False)),
                ("calls", models.BigIntegerField(default=0)),
                ("seconds", models.FloatField(default=0)),
                *((f"took_{bound}", models.BigIntegerField(default=0)) for bound in BOUNDS),
            ],
        ),
    ]
