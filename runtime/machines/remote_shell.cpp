#include "runtime/machines/remote_shell.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "policies/vocabulary/check.hpp"
#include "runtime/launcher/launcher.hpp"
#include "runtime/process/run_program.hpp"

namespace tandem::machines {
namespace {

/// A line for the shell here that runs a script there.
std::string remote_line(const RemoteShell& shell, const std::string& machine, const std::string& script) {
  std::vector<std::string> words = words_on(shell, machine, {"sh", "-c", script});
  for (auto& word : words) word = shell_word(word);
  return fmt::format("{}", fmt::join(words, " "));
}

void run_line(const std::string& line, const std::string& machine, const std::string& what, Seconds limit) {
  const auto result = run_program({"sh", "-c", line}, {.input = {}, .time_limit = limit});
  if (result.status.succeeded() && !result.timed_out) return;
  std::string reason = result.timed_out ? "no answer in time" : result.output;
  while (!reason.empty() && reason.back() == '\n') reason.pop_back();
  throw WorldError(fmt::format("machine '{}': {}: {}", machine, what, reason));
}

}  // namespace

RemoteShell remote_shell() {
  for (const char* variable : {"OMPI_MCA_plm_rsh_agent", "OMPI_MCA_orte_rsh_agent"})
    if (const char* const text = std::getenv(variable); text != nullptr && *text != '\0') {
      // The first of several agents, without its path's colon-separated others.
      std::istringstream words(std::string(text).substr(0, std::string(text).find(" : ")));
      RemoteShell shell;
      for (std::string word; words >> word;) shell.words.push_back(word);
      return shell;
    }
  return {.words = {"ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"}};
}

RemoteShell slurm_shell() {
  return {.words = {"srun", "--overlap", "--quiet", "--nodes=1", "--ntasks=1", "--mpi=none", "--nodelist"},
          .has_shell = false};
}

std::string this_machine_name() {
  char own[256] = {};
  gethostname(own, sizeof(own) - 1);
  return own;
}

bool is_this_machine(const std::string& name) { return name == "localhost" || name == this_machine_name(); }

std::vector<std::string> words_on(const RemoteShell& shell, const std::string& machine,
                                  const std::vector<std::string>& command) {
  if (is_this_machine(machine)) return command;
  std::vector<std::string> words = shell.words;
  words.push_back(machine);
  for (const auto& word : command) words.push_back(shell.has_shell ? shell_word(word) : word);
  return words;
}

void send_files(const RemoteShell& shell, const std::string& machine, const std::string& folder,
                const std::vector<std::string>& names, const std::string& to, Seconds limit) {
  std::string line = "tar -C " + shell_word(folder) + " -chf -";
  for (const auto& name : names) line += ' ' + shell_word(name);
  const std::string target = shell_word(to);
  line += " | " + remote_line(shell, machine, fmt::format("mkdir -p {0} && tar -C {0} -xf -", target));
  run_line(line, machine, "cannot copy files to " + to, limit);
}

std::string fetch_line(const RemoteShell& shell, const std::string& machine, const std::string& folder,
                       const std::vector<std::string>& names, const std::string& into) {
  std::string pack = "tar -C " + shell_word(folder) + " -cf -";
  for (const auto& name : names) pack += ' ' + shell_word(name);
  // What arrives before an error is not complete.
  return fmt::format("{} | tar -C {} -xf -", remote_line(shell, machine, pack), shell_word(into));
}

void fetch_folders(const RemoteShell& shell, const std::string& machine, const std::string& prefix,
                   const std::string& except, const std::string& into, Seconds limit) {
  const std::string all = shell_word(prefix) + '*';
  // Archives that follow each other are read as one. An empty archive means that there is no folder.
  const std::string pack = fmt::format(
      "for d in {}; do [ ! -d \"$d\" ] || tar -C \"$d\" --exclude={} -cf - . || exit 1; done; tar -cf - -T "
      "/dev/null",
      all, shell_word("./" + except));
  run_line(remote_line(shell, machine, pack) + " | tar -C " + shell_word(into) + " -xif -", machine,
           "cannot bring its results here", limit);
  remove_folders(shell, machine, prefix, limit);
}

void remove_folders(const RemoteShell& shell, const std::string& machine, const std::string& prefix,
                    Seconds limit) {
  run_line(remote_line(shell, machine, "rm -rf " + shell_word(prefix) + '*'), machine,
           "cannot remove " + prefix + "*", limit);
}

}  // namespace tandem::machines
