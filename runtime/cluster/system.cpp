#include "runtime/cluster/system.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <thread>

#include "policies/vocabulary/check.hpp"
#include "runtime/process/process_list.hpp"
#include "runtime/process/run_program.hpp"

namespace tandem::cluster {
namespace {

namespace fs = std::filesystem;
constexpr const char* namespace_folder = "/run/netns";
constexpr Seconds kill_limit{5.0};

bool same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

}  // namespace

CommandOutcome run_command(const std::vector<std::string>& words, const std::string& input) {
  try {
    const auto result = run_program(words, {.input = input});
    return {result.status.shell_code(), result.output};
  } catch (const ProgramMissing&) {
    return {127, words.front() + ": program not found"};
  }
}

std::vector<std::string> network_namespaces(const std::string& prefix) {
  std::vector<std::string> names;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(namespace_folder, missing)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(prefix)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

void inside_namespace(const std::string& name, const std::function<void()>& act) {
  const std::string path = fmt::format("{}/{}", namespace_folder, name);
  std::exception_ptr failure;
  // setns changes only the calling thread, and this thread ends with the call, so nothing has to be undone.
  std::thread inside([&] {
    try {
      const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
      const bool entered = descriptor >= 0 && setns(descriptor, CLONE_NEWNET) == 0;
      const int reason = errno;
      if (descriptor >= 0) close(descriptor);
      if (!entered) throw WorldError(fmt::format("cannot enter {}: {}", path, std::strerror(reason)));
      act();
    } catch (...) {
      failure = std::current_exception();
    }
  });
  inside.join();
  if (failure) std::rethrow_exception(failure);
}

std::vector<pid_t> processes_in(const std::string& name) {
  struct stat wanted {};
  if (stat(fmt::format("{}/{}", namespace_folder, name).c_str(), &wanted) != 0) return {};
  return processes_where([&](const fs::path& folder) {
    struct stat own {};
    return stat((folder / "ns/net").c_str(), &own) == 0 && same_file(own, wanted);
  });
}

void kill_processes_in(const std::string& name) {
  if (kill_until_none([&] { return processes_in(name); }, kill_limit)) return;
  throw WorldError(fmt::format("a process in the network namespace {} cannot be killed", name));
}

}  // namespace tandem::cluster
