"""Instants with the zone said: whoever reads them at night need not know what the server is set to."""

DATETIME_FORMAT = "Y-m-d H:i:s e"
SHORT_DATETIME_FORMAT = DATETIME_FORMAT
