// Finds processes of this machine that are not our children, and kills them.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"
#include "runtime/process/process.hpp"

namespace tandem {

/// Processes for whose folder in /proc `matches` returns true. A process may end between the check and the
/// return.
std::vector<pid_t> processes_where(const std::function<bool(const std::filesystem::path& folder)>& matches);

/// Processes of this user that have the variable "NAME=VALUE" in their environment.
std::vector<pid_t> processes_with_variable(const std::string& variable);

/// Kills the process of a rank of Open MPI on this machine, and the processes that it started. `mark`: the
/// variable of its job. False: there is no such process.
bool kill_rank(const std::string& mark, int rank);

/// "NUMBER.START"; START is the time at which the kernel started the process. A later process with the same
/// number has another START. Empty when there is no such process, or only its exit status remains.
std::string process_identity(pid_t process);

/// The process that started it, or that adopted it; 0: there is no such process.
pid_t parent_of(pid_t process);
/// Name of its program, at most 15 characters; empty: there is no such process.
std::string program_of(pid_t process);

/// The exit status of a process that is ending, or whose status was not collected yet. Empty when it is
/// gone, or may not be examined; exit code 0 when it is not ending. Readable from the moment at which its
/// descriptors are closed.
std::optional<ExitStatus> status_of_ending(pid_t process);

/// Whether processes_where sees every process of a host with this name. True on that host, and where this
/// process belongs to the first process namespace of its kernel, which contains all others (also the hosts
/// of emulated clusters).
bool sees_processes_of(const std::string& host);

/// Kills the processes that `find` returns until it returns none. False if processes are left after `limit`.
bool kill_until_none(const std::function<std::vector<pid_t>()>& find, Seconds limit);

}  // namespace tandem
