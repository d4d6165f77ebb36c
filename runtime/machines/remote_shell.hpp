// How a command reaches another machine: ssh, or the launcher of a batch system.
#pragma once

#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem::machines {

struct RemoteShell {
  std::vector<std::string> words;  ///< program and options; machine and command follow
  bool has_shell = true;           ///< the machine runs the command by a shell
};

/// ssh; or the words of OMPI_MCA_plm_rsh_agent, where the site sets them.
RemoteShell remote_shell();
/// The same within a Slurm allocation.
RemoteShell slurm_shell();

/// The name of this machine.
std::string this_machine_name();
/// Whether `name` is a name of this machine.
bool is_this_machine(const std::string& name);

/// The words that run a command on a machine. On this machine, they are the command's own words.
std::vector<std::string> words_on(const RemoteShell& shell, const std::string& machine,
                                  const std::vector<std::string>& command);

/// Creates a folder on a machine and copies files into it. `names`: in the local folder. Errors: WorldError
/// with the machine and what the shell printed.
void send_files(const RemoteShell& shell, const std::string& machine, const std::string& folder,
                const std::vector<std::string>& names, const std::string& to, Seconds limit);

/// A line for the shell of this machine. It copies files from a folder of another machine into a local
/// folder, under the same paths. It fails when one is missing.
std::string fetch_line(const RemoteShell& shell, const std::string& machine, const std::string& folder,
                       const std::vector<std::string>& names, const std::string& into);

/// Copies the contents of all folders of a machine whose paths begin with `prefix` into a local folder,
/// except for one path in them. Then removes these folders. Does nothing when there are none. Errors:
/// WorldError with the machine and what the shell printed.
void fetch_folders(const RemoteShell& shell, const std::string& machine, const std::string& prefix,
                   const std::string& except, const std::string& into, Seconds limit);
/// Removes the folders whose paths begin with `prefix`. Errors: as fetch_folders.
void remove_folders(const RemoteShell& shell, const std::string& machine, const std::string& prefix,
                    Seconds limit);

}  // namespace tandem::machines
