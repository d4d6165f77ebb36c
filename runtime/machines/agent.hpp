// How a command reaches another machine: ssh, or the launcher of a batch system.
#pragma once

#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem::machines {

struct Agent {
  std::vector<std::string> words;  ///< program and options, to which machine and command are added
  bool has_shell = true;           ///< it gives the command to a shell of the machine
};

/// ssh; or the words of OMPI_MCA_plm_rsh_agent, where the site sets them.
Agent remote_agent();
/// The same within a Slurm allocation.
Agent slurm_agent();

/// The name of this machine.
std::string this_machine_name();
/// Whether a machine's name is this machine's.
bool is_this_machine(const std::string& name);

/// The words that run a command on a machine; on this one, those of the command.
std::vector<std::string> words_on(const Agent& agent, const std::string& machine,
                                  const std::vector<std::string>& command);

/// Copies files to a folder of a machine, which is made. `names`: in the local folder. Errors: WorldError
/// with the machine and what the agent printed.
void send_files(const Agent& agent, const std::string& machine, const std::string& folder,
                const std::vector<std::string>& names, const std::string& to, Seconds limit);

/// A line for the shell here that copies files of a folder of a machine into a local folder, under the same
/// paths. It fails when one is missing.
std::string fetch_line(const Agent& agent, const std::string& machine, const std::string& folder,
                       const std::vector<std::string>& names, const std::string& into);

/// Brings the contents of all folders of a machine whose paths begin with `prefix` into a local folder,
/// except for one path in them, and removes them there. None: does nothing. Errors: WorldError with the
/// machine and what the agent printed.
void fetch_folders(const Agent& agent, const std::string& machine, const std::string& prefix,
                   const std::string& except, const std::string& into, Seconds limit);
/// Removes them. Errors: as fetch_folders.
void remove_folders(const Agent& agent, const std::string& machine, const std::string& prefix, Seconds limit);

}  // namespace tandem::machines
