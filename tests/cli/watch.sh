test_watch() { :; }
