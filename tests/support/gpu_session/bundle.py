"""Packs what a GPU node lacks that has only Linux, Python, the NVIDIA driver and PyTorch: the programs, the libraries they
load, and mpirun. Never packed: the C and C++ libraries and the driver, which every node has, and libtorch with its CUDA
libraries, which are larger than a bundle may be: the node's PyTorch is used."""
import glob
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

from . import machine

LARGEST = 64 << 20
NAME = "tandem-gpu"
PROGRAMS = ["tandem", "tandem-rank", "libtandem_torch.so", "gpu_device_test", "gpu_learner_test", "kernels_benchmark",
            "learner_benchmark", "bare_loop", "gpu_exchange", "runtime_benchmark"]
FILES = ["tests/gpu_session", "tests/sanitize_gpu", "tests/support/gpu_session/*.py", "tests/support/gpu_session/*.json",
         "platforms/*.xml", "workloads/experiments/*.yaml", "runtime/gpu/README.md"]
_SYSTEM = re.compile(r"^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|anl|stdc\+\+|gcc_s))\.so")
_DRIVER = re.compile(r"^lib(cuda|nvidia-.*|nvcuvid)\.so")
_TORCH = re.compile(r"^lib(torch|c10|caffe2|cudart|cublas|cudnn|nccl|nvrtc|cu\w+|nv\w+)[\w-]*\.so")
# Plugins of Open MPI for networks between machines, whose libraries are large; a session uses one machine.
_NETWORKS = re.compile(r"mca_\w+_(ucx|ofi|psm2?|openib|usnic|portals4)\.so$|^mca_(spml|scoll|memheap|sshmem)_")


def is_bundle(root):
    return os.path.exists(os.path.join(root, "manifest.json"))


def environment(root, base):
    """What the programs of a bundle need: its libraries, the node's PyTorch, and the plugins of its Open MPI."""
    folders = [os.path.join(root, "lib")]
    torch = importlib.util.find_spec("torch")
    if torch is not None and torch.submodule_search_locations:
        folders.append(os.path.join(torch.submodule_search_locations[0], "lib"))
    if base.get("LD_LIBRARY_PATH"):
        folders.append(base["LD_LIBRARY_PATH"])
    found = {"LD_LIBRARY_PATH": os.pathsep.join(folders)}
    starter = os.path.join(root, "bin", "prterun")
    if os.path.exists(starter):
        # Of Open MPI 5. With a prefix, it would replace LD_LIBRARY_PATH for the ranks.
        return dict(found, OMPI_PRTERUN=starter)
    return dict(found, OPAL_PREFIX=os.path.join(root, "mpi"),
                OMPI_MCA_mca_base_component_path=os.path.join(root, "mpi", "plugins"))


def _output(words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True).stdout


def _needed(path):
    """The names of the libraries that a file itself names."""
    return re.findall(r"\(NEEDED\).*\[(.*)\]", _output(["readelf", "-d", path]))


class Libraries:
    """Collects the libraries of programs, without those that a node has."""

    def __init__(self):
        self.paths = {}      # name: path
        self.torch = set()   # names of libraries of libtorch that are used
        self.users = set()   # programs that need libtorch

    def add(self, program):
        """Errors: ValueError if a library is missing."""
        places = dict(re.findall(r"^\s*(\S+) => (/\S+)", _output(["ldd", program]), re.M))
        todo, seen = _needed(program), set()
        while todo:
            name = todo.pop()
            if name in seen or _SYSTEM.match(name) or _DRIVER.match(name):
                continue
            seen.add(name)
            if _TORCH.match(name):
                self.torch.add(name)
                self.users.add(os.path.basename(program))
                continue
            if name not in places:
                raise ValueError("%s needs %s, which is not found" % (program, name))
            self.paths[name] = os.path.realpath(places[name])
            todo += _needed(self.paths[name])


def _copy(path, to, strip=True):
    os.makedirs(os.path.dirname(to), exist_ok=True)
    shutil.copy2(path, to)
    if strip:
        os.chmod(to, os.stat(to).st_mode | 0o200)
        subprocess.run(["strip", "--strip-unneeded", to], check=True)


def _plugin_folder():
    text = _output(["ompi_info", "--path", "pkglibdir", "--parsable"])
    return text.strip().rpartition(":")[2]


def _collect(build, root, folder):
    """Copies everything into `folder`. Returns the manifest."""
    libraries, missing = Libraries(), []
    for name in PROGRAMS:
        path = os.path.join(build, "bin", name)
        if not os.path.exists(path):
            missing.append(name)
            continue
        libraries.add(path)
        _copy(path, os.path.join(folder, "bin", name))
    if "gpu_device_test" in missing and "kernels_benchmark" in missing:
        raise ValueError("%s has no program for GPUs: build with the CUDA Toolkit (-DTANDEM_CUDA=ON) and tests" % build)
    mpirun = shutil.which("mpirun")
    if mpirun and "tandem-rank" not in missing:
        libraries.add(os.path.realpath(mpirun))
        _copy(os.path.realpath(mpirun), os.path.join(folder, "bin", "mpirun"))
        # The mpirun of Open MPI 5 starts this program, and its plugins are part of its libraries.
        starter = shutil.which("prterun")
        if starter and "libpmix.so.2" in libraries.paths:
            libraries.add(os.path.realpath(starter))
            _copy(os.path.realpath(starter), os.path.join(folder, "bin", "prterun"))
        for plugin in sorted(glob.glob(os.path.join(_plugin_folder(), "mca_*.so"))):
            if not _NETWORKS.search(os.path.basename(plugin)):
                libraries.add(plugin)
                _copy(plugin, os.path.join(folder, "mpi", "plugins", os.path.basename(plugin)))
    for name, path in libraries.paths.items():
        _copy(path, os.path.join(folder, "lib", name))
    for pattern in FILES:
        for path in glob.glob(os.path.join(root, pattern)):
            _copy(path, os.path.join(folder, os.path.relpath(path, root)), strip=False)
    rank = os.path.join(build, "bin", "tandem-rank")
    return {"made": machine.now(), "commit": machine.first_line(["git", "-C", root, "describe", "--always", "--dirty"]),
            "versions": machine.lines_of([rank, "--version"]), "programs": sorted(os.listdir(os.path.join(folder, "bin"))),
            "missing_programs": missing, "libraries": sorted(libraries.paths), "libtorch": sorted(libraries.torch),
            "programs_with_libtorch": sorted(libraries.users)}


def _describe(manifest, path, size):
    lines = ["%s: %.1f MiB" % (path, size / (1 << 20)), "  programs: " + ", ".join(manifest["programs"]),
             "  libraries: " + ", ".join(manifest["libraries"])]
    if manifest["missing_programs"]:
        lines.append("  not in this build, and therefore not in the bundle: " + ", ".join(manifest["missing_programs"]))
    if manifest["libtorch"]:
        lines.append("  not in the bundle, taken from the node's PyTorch: %s, for %s" % (
            ", ".join(manifest["libtorch"]), ", ".join(manifest["programs_with_libtorch"])))
    if any(re.search(r"\.so\.\d", name) for name in manifest["libtorch"] if name.startswith(("libtorch", "libc10"))):
        lines.append("  This build's libtorch is a distribution's, with names that no PyTorch package has, so these programs "
                     "do not start on a node.\n  Build against the package of the node's PyTorch: see runtime/gpu/README.md.")
    return "\n".join(lines)


def make(build, root, path):
    """Writes the bundle, or fails with its size where it is too large. Returns the exit code."""
    with tempfile.TemporaryDirectory(prefix="tandem-bundle-") as temporary:
        folder = os.path.join(temporary, NAME)
        try:
            manifest = _collect(build, root, folder)
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            print("gpu_session: %s" % error, file=sys.stderr)
            return 2
        with open(os.path.join(folder, "manifest.json"), "w", encoding="utf-8") as file:
            json.dump(manifest, file, indent=1)
        packed = os.path.join(temporary, "bundle")
        with tarfile.open(packed, "w:xz", preset=6) as archive:
            archive.add(folder, arcname=NAME)
        size = os.path.getsize(packed)
        if size > LARGEST:
            parts = sorted(((os.path.getsize(os.path.join(where, name)), name) for where, _, names in os.walk(folder)
                            for name in names), reverse=True)[:8]
            print("gpu_session: the bundle is %.1f MiB, more than %d; its largest files, unpacked: %s" % (
                size / (1 << 20), LARGEST >> 20, ", ".join("%s %.1f MiB" % (name, part / (1 << 20)) for part, name in parts)),
                file=sys.stderr)
            return 1
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        partial = path + ".partial"
        shutil.copyfile(packed, partial)
        os.replace(partial, path)
    print(_describe(manifest, path, size))
    return 0
