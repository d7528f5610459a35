"""sumbo inside other libraries; each module needs its library, named in the extra."""
