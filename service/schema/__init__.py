"""Values: JSON as we accept it, declared fields, MongoDB's validator and its verdicts. Pure."""
