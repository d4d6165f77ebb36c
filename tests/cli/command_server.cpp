// Runs commands as `tandem` would, each in a forked child, so that libtorch is loaded once for all of them.
// With arguments it is `tandem` itself, since some commands start further ones.
//
// A request is three lines on the standard input: the folder, the words for a shell, the file for the output.
// The answer is a line with the exit code, or with -1 where the words need a shell.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "cli/commands/tandem_main.hpp"
#include "runtime/process/end_process.hpp"
#include "workloads/learner/learner.hpp"

namespace {

/// Empty if they need a shell.
std::vector<std::string> split(const std::string& words) {
  wordexp_t found{};
  if (wordexp(words.c_str(), &found, WRDE_NOCMD | WRDE_UNDEF) != 0) return {};
  std::vector<std::string> list(found.we_wordv, found.we_wordv + found.we_wordc);
  wordfree(&found);
  return list;
}

[[noreturn]] void run_in_child(const std::string& folder, std::vector<std::string> words,
                               const std::string& output) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  const int in = open("/dev/null", O_RDONLY);
  const int out = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (chdir(folder.c_str()) != 0 || in < 0 || out < 0) std::_Exit(127);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  words.insert(words.begin(), "tandem");
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  tandem::end_process(tandem::tandem_main(static_cast<int>(words.size()), arguments.data()));
}

int answer(const std::string& folder, const std::string& words, const std::string& output) {
  const std::vector<std::string> list = split(words);
  if (list.empty()) return -1;
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) run_in_child(folder, list, output);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return 127;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) return tandem::tandem_main(argc, argv);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  tandem::prepare_learner();
  std::string folder, words, output;
  while (std::getline(std::cin, folder) && std::getline(std::cin, words) && std::getline(std::cin, output))
    std::cout << answer(folder, words, output) << std::endl;
  return 0;
}
