"""Everything that is kept in MongoDB. The only package that imports pymongo, gridfs or bson."""
