#include "cli/self.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/commands.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::cli {
namespace {

/// Starts the program and returns waitpid's status.
int spawn_and_wait(std::vector<std::string> words, const std::string& log) {
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = -1;
  const int error = posix_spawn(&child, words.front().c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw WorldError("cannot start " + words.front());
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

}  // namespace

void run_self(const std::vector<std::string>& words, const std::string& log) {
  std::vector<std::string> all = {std::filesystem::read_symlink("/proc/self/exe").string()};
  all.insert(all.end(), words.begin(), words.end());
  const int status = spawn_and_wait(std::move(all), log);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : exit_broken_world;
  if (code == exit_fine) return;
  std::ifstream file(log);
  const std::string said{std::istreambuf_iterator<char>(file), {}};
  const std::string message = fmt::format("tandem {} failed:\n{}", fmt::join(words, " "), said);
  if (code == exit_bad_input) throw ConfigError(message);
  throw WorldError(message);
}

}  // namespace tandem::cli
