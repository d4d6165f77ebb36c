#include "runtime/process/process_list.hpp"

#include <signal.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "policies/vocabulary/text_parts.hpp"

namespace tandem {

namespace fs = std::filesystem;

namespace {

/// The text of a file of a process, which may end while the file is read: the buffer then throws, and the
/// stream catches that.
std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

std::vector<pid_t> processes_where(const std::function<bool(const fs::path&)>& matches) {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const auto process = parse_number<pid_t>(entry.path().filename().string());
    if (process && matches(entry.path())) found.push_back(*process);
  }
  return found;
}

std::vector<pid_t> processes_with_variable(const std::string& variable) {
  return processes_where([&](const fs::path& folder) {
    // Each variable ends with a zero byte.
    const std::string environment = '\0' + text_of(folder / "environ");
    return environment.find('\0' + variable + '\0') != std::string::npos;
  });
}

bool kill_rank(const std::string& mark, int rank) {
  // Open MPI numbers its processes so.
  const auto processes = processes_with_variable("OMPI_COMM_WORLD_RANK=" + std::to_string(rank));
  bool is_killed = false;
  for (const pid_t process : processes_with_variable(mark))
    if (std::ranges::find(processes, process) != processes.end())
      is_killed = ::kill(process, SIGKILL) == 0 || is_killed;
  return is_killed;
}

namespace {

/// The columns of /proc/PROCESS/stat from the state on; empty: there is no such process.
std::vector<std::string> stat_of(pid_t process) {
  const std::string text = text_of("/proc/" + std::to_string(process) + "/stat");
  // The second column is the program's name in parentheses, which may contain anything.
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream columns(text.substr(name_end + 1));
  return {std::istream_iterator<std::string>(columns), {}};
}

}  // namespace

std::string process_identity(pid_t process) {
  const auto words = stat_of(process);
  constexpr std::size_t state = 0, start_time = 19;
  if (words.size() <= start_time || words[state] == "Z" || words[state] == "X") return "";
  return std::to_string(process) + '.' + words[start_time];
}

pid_t parent_of(pid_t process) {
  const auto words = stat_of(process);
  constexpr std::size_t parent = 1;
  return words.size() > parent ? std::atoi(words[parent].c_str()) : 0;
}

std::string program_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

std::optional<ExitStatus> status_of_ending(pid_t process) {
  const auto words = stat_of(process);
  constexpr std::size_t exit_code = 49;
  if (words.size() <= exit_code) return std::nullopt;
  const int status = std::atoi(words[exit_code].c_str());
  if (WIFSIGNALED(status)) return ExitStatus{.signal = WTERMSIG(status)};
  return ExitStatus{.code = WEXITSTATUS(status)};
}

bool sees_processes_of(const std::string& host) {
  // PROC_PID_INIT_INO of the kernel's proc_ns.h.
  const fs::path first_namespace = "pid:[4026531836]";
  utsname system{};
  uname(&system);
  std::error_code error;
  return host == system.nodename || fs::read_symlink("/proc/self/ns/pid", error) == first_namespace;
}

bool kill_until_none(const std::function<std::vector<pid_t>()>& find, Seconds limit) {
  using namespace std::chrono_literals;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(limit.count());
  for (auto pause = 1ms;; pause = std::min<std::chrono::milliseconds>(2 * pause, 50ms)) {
    const auto left = find();
    if (left.empty()) return true;
    if (std::chrono::steady_clock::now() > end) return false;
    for (const pid_t process : left) kill(process, SIGKILL);
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace tandem
