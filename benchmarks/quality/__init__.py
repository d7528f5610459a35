"""Compare the results of sumbo with those of other optimisers on many problems."""
