// Loads a platform file with SimGrid in a child process, because SimGrid's parser throws, aborts or crashes
// on bad files and a process can have only one engine. This process gets no engine.
#pragma once

#include <functional>
#include <string>

#include "platforms/child_process.hpp"

namespace simgrid::s4u {
class Engine;
}

namespace tandem::platforms {

/// Loads `path` into an engine in a child process and runs `question` there. `on_creation` runs before
/// loading, to register SimGrid callbacks. `shorter`: the text of a platform that is loaded in the place of
/// the file, unless SimGrid refuses it; empty: none. Pre: this process has no engine (a forked one could not
/// be replaced).
ChildResult ask_simgrid(const std::string& path, const std::function<void()>& on_creation,
                        const std::function<void(simgrid::s4u::Engine&, const Emit&)>& question,
                        const std::string& shorter = {});

/// The line that SimGrid's parser had reached when it failed; 0 when it did not fail there.
int parser_line(const ChildResult& result);

/// SimGrid's own message in the output of a failed child, without prefixes, backtraces and lists of settings.
std::string simgrid_message(const ChildResult& result);

}  // namespace tandem::platforms
