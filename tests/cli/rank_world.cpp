#include "tests/cli/rank_world.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <map>
#include <regex>
#include <stdexcept>

#include "policies/vocabulary/stream_text.hpp"

namespace tandem::testing {
namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return rest_of(file);
}

/// Opened for reading and writing, so that neither side waits for the other to open it.
int open_pipe(const std::string& path) {
  const int descriptor = mkfifo(path.c_str(), 0600) == 0 ? open(path.c_str(), O_RDWR | O_CLOEXEC) : -1;
  if (descriptor < 0) throw std::runtime_error("no pipe " + path);
  return descriptor;
}

}  // namespace

RankWorld::RankWorld(const std::string& launch, int ranks, const std::string& program) {
  for (int rank = 0; rank < ranks; ++rank)
    jobs_.push_back(open_pipe(folder_.path("jobs." + std::to_string(rank))));
  done_ = open_pipe(folder_.path("done"));
  const std::string line = "exec " + launch + " '" + program + "' " + folder_.path().string() + " > " +
                           folder_.path("output") + " 2>&1 < /dev/null";
  mpirun_ = fork();
  if (mpirun_ == 0) {
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(127);
  }
}

RankWorld::~RankWorld() {
  // The ranks end when their pipes close.
  for (const int descriptor : jobs_) close(descriptor);
  close(done_);
  if (mpirun_ > 0) waitpid(mpirun_, nullptr, 0);
}

bool RankWorld::play(const std::string& folder) {
  const std::string line = folder + '\n';
  for (const int descriptor : jobs_)
    if (write(descriptor, line.data(), line.size()) != static_cast<ssize_t>(line.size())) return false;
  for (;;) {
    pollfd waited{.fd = done_, .events = POLLIN, .revents = 0};
    if (poll(&waited, 1, 200) > 0) {
      std::array<char, 16> buffer{};
      return read(done_, buffer.data(), buffer.size()) > 0;
    }
    if (waitpid(mpirun_, nullptr, WNOHANG) == mpirun_) {
      mpirun_ = -1;
      return false;
    }
  }
}

std::string RankWorld::output() const { return contents(folder_.path("output")); }

CommandResult run_in_shared_world(const CommandLine& line, const std::string& words,
                                  const std::string& program) {
  const auto printed = line.tandem("run " + words + " --print-command");
  std::smatch parts;
  static const std::regex launch(R"((?:^|\n)(\S*mpirun -n (\d+) [^\n]*) \S*/tandem-rank ([^\n]*))");
  if (printed.exit_code != 0 || !std::regex_search(printed.output, parts, launch)) return printed;
  const auto stored = line.shell("printf '%s\\n' " + parts[3].str() + " > job_words");
  if (stored.exit_code != 0) return stored;

  static std::map<std::string, RankWorld> worlds;
  const std::string key = program + ' ' + parts[1].str();
  const auto world = worlds.try_emplace(key, parts[1].str(), std::stoi(parts[2]), program).first;
  if (world->second.play(line.folder().string())) return {0, printed.output};
  const CommandResult failed{70, world->second.output()};
  worlds.erase(world);
  return failed;
}

}  // namespace tandem::testing
