// Asks every machine of a job, before the job starts, whether it can take part. Machines answer in parallel.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"
#include "runtime/machines/remote_shell.hpp"

namespace tandem::machines {

/// A file as a machine has it.
struct FileContent {
  std::int64_t bytes = 0;
  std::string digest;
  bool operator==(const FileContent&) const = default;
};

/// The answer of a machine.
struct MachineState {
  std::string machine;                    ///< name given by the user
  std::string problem = {};               ///< why it cannot take part, with advice; empty: it can
  std::string host = {};                  ///< its own name
  std::string software = {}, build = {};  ///< version, and digest of the program
  int cores = 0;
  double load = 0.0;  ///< number of processes that want a core
  int gpus = 0;
  Seconds clock_offset{0};       ///< its clock minus ours
  Seconds clock_uncertainty{0};  ///< half of the shortest exchange in which that was measured
  std::map<std::string, std::vector<std::string>> interfaces = {};  ///< addresses by name
  std::vector<std::optional<FileContent>> files = {};               ///< of the setting; none: cannot be read
  bool sees_results = false;  ///< it sees our result directory; otherwise its files are gathered
  bool may_write = false;     ///< it may write there, or create a folder of that name
};

struct CheckSetting {
  std::vector<std::string> machines;
  RemoteShell shell;
  std::string program;         ///< path of tandem-rank, on every machine
  std::string token;           ///< a file of the result directory that exists here
  std::string interface = {};  ///< of the messages: names and networks, "eth1,10.0.0.0/24"; empty: any
  std::vector<std::string> files = {};  ///< absolute paths; equal to those here on every machine
  bool is_allocation = false;           ///< a batch system named the machines, each once
  Seconds limit{20.0};                  ///< for the answer of one machine, without the time to read files
};

/// The answer of each machine, in the order of the machines. `problem` is set only where no answer came.
std::vector<MachineState> ask_machines(const CheckSetting& setting);
/// The same, with every `problem` that the answers show. This machine is asked without the remote shell.
std::vector<MachineState> check_machines(const CheckSetting& setting);

/// The first address of a machine in the network that messages use (CheckSetting::interface); empty: it is
/// not known.
std::string address_in(const MachineState& state, const std::string& interface);

/// One row per machine; `ranks`: how many of the job it has.
std::string machines_table(const std::vector<MachineState>& states, const std::vector<int>& ranks);

}  // namespace tandem::machines
