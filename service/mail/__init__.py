"""Mails: their texts and layouts, and handing them to an SMTP server. Knows no project and no database."""
