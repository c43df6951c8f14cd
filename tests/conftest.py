"""One real mongod for the whole run, one database prefix for each test worker, emptied between tests."""


