"""Files in GridFS."""
