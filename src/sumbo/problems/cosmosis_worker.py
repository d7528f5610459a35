"""Evaluate a CosmoSIS pipeline for another process: requests in, replies out.

This file is run as a script by the interpreter that has CosmoSIS, which need not have
sumbo nor be of the same version: it imports the standard library and CosmoSIS only.
One request and one reply per line, in JSON. The first request sets up:

    {"library": path, "ini": file below it, "parameters": [[section, name, lo, hi], …]}
    {"loglike": number or null, "reason": text}         at the start point of the ini
    {"error": "import" | "parameters" | "pipeline", "message": text}

Then, with the coordinates in the order of ``parameters``:

    {"x": [number, …]}
    {"loglike": number or null, "reason": text}

A null says that the pipeline failed at the point. The end of the input ends the worker.
"""

import json
import math
import os
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO


class RefusedError(Exception):
    """The pipeline cannot be set up; ``kind`` says which part of it."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def main() -> None:
    """Answer requests until there are no more."""
    # The folder of this script is on the path, and holds another cosmosis.py.
    here = Path(__file__).resolve().parent
    sys.path[:] = [p for p in sys.path if Path(p).resolve() != here]
    requests, replies = private_channels()
    pipeline, order = None, []
    for line in requests:
        request = json.loads(line)
        if pipeline is None:
            try:
                pipeline, order = build(request)
                reply = loglike(pipeline, [p.start for p in pipeline.varied_params])
            except RefusedError as error:
                reply = {"error": error.kind, "message": str(error)}
        else:
            reply = loglike(pipeline, [float(request["x"][i]) for i in order])
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


def private_channels() -> tuple[TextIO, TextIO]:
    """Return streams of requests and replies that no library can disturb.

    What Python, Fortran or C++ print to the standard output goes to the standard
    error from here on.
    """
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, replies


def build(setup: dict) -> tuple[Any, list]:
    """Return the pipeline, and which coordinate each of its parameters takes.

    Raises:
        RefusedError: If CosmoSIS is missing, the parameters are not those of the
            pipeline, or the pipeline cannot be built.
    """
    try:
        config = import_module("cosmosis.runtime.config")
        runtime = import_module("cosmosis.runtime.pipeline")
    except (ImportError, OSError) as error:  # OSError: its compiled part is missing
        raise RefusedError("import", describe(error)) from error
    try:
        # Paths inside the files are relative to the library.
        os.chdir(setup["library"])
        sys.path.insert(0, str(Path(setup["library"], "likelihood", "2pt")))
        # With debug an error in a module would end the process.
        ini = config.Inifile(setup["ini"], override={("pipeline", "debug"): "F"})
        values = config.Inifile(ini.get("pipeline", "values"))
        free(values, setup["parameters"])
        pipeline = runtime.LikelihoodPipeline(ini, values=values)
    except RefusedError:
        raise
    except (Exception, SystemExit) as error:
        traceback.print_exc()
        raise RefusedError("pipeline", describe(error)) from error
    return pipeline, permutation(pipeline.varied_params, setup["parameters"])


def free(values: Any, parameters: list) -> None:
    """Give every parameter that is fixed in ``values`` a range around its value.

    Raises:
        RefusedError: If a parameter is not among the values.
    """
    for section, name, lo, hi in parameters:
        if not values.has_option(section, name):
            msg = f"{section}/{name} is not in the values file"
            raise RefusedError("parameters", msg)
        words = values.get(section, name).split()
        if len(words) == 1:
            values.set(section, name, f"{lo!r} {words[0]} {hi!r}")


def permutation(varied: list, parameters: list) -> list:
    """Return the index in ``parameters`` of each varied parameter of the pipeline.

    Raises:
        RefusedError: If they are not the same parameters.
    """
    wanted = [(section.lower(), name.lower()) for section, name, _, _ in parameters]
    found = [(p.section.lower(), p.name.lower()) for p in varied]
    if sorted(wanted) != sorted(found):
        more = ", ".join("/".join(key) for key in sorted(set(found) - set(wanted)))
        less = ", ".join("/".join(key) for key in sorted(set(wanted) - set(found)))
        msg = f"the pipeline varies also [{more}], and does not vary [{less}]"
        raise RefusedError("parameters", msg)
    return [wanted.index(key) for key in found]


def loglike(pipeline: Any, p: list) -> dict:
    """Return the reply with the log-likelihood at p, null where the pipeline fails."""
    try:
        value = float(pipeline.likelihood(p)[0])
    except (Exception, SystemExit) as error:  # noqa: BLE001 - by any module
        traceback.print_exc()
        return {"loglike": None, "reason": describe(error)}
    if math.isfinite(value):
        return {"loglike": value, "reason": ""}
    return {"loglike": None, "reason": f"the pipeline returned {value}"}


def describe(error: BaseException) -> str:
    """Return the kind and the text of an error on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


if __name__ == "__main__":
    main()
