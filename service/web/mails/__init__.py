"""The mails of a project over HTTP, and the mailbox of those who develop."""
