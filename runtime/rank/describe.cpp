#include "runtime/rank/describe.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "runtime/process/running_program.hpp"
#include "workloads/cost/profile.hpp"
#include "workloads/job/identity.hpp"

namespace tandem {
namespace {

namespace fs = std::filesystem;

std::int64_t gpus() {
  std::error_code none;
  const fs::directory_iterator folder("/proc/driver/nvidia/gpus", none);
  return none ? 0 : std::distance(begin(folder), end(folder));
}

/// "lo", "eth0" ...
std::vector<std::string> interfaces() {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator("/sys/class/net", none))
    names.push_back(entry.path().filename());
  return names;
}

/// Into the folder, which need not exist yet.
bool may_write(fs::path folder) {
  std::error_code error;
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  return access(folder.c_str(), W_OK) == 0;
}

nlohmann::json description(const std::string& token) {
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  double load = 0.0;
  if (getloadavg(&load, 1) != 1) load = 0.0;
  std::error_code error;
  return {{"host", host},
          {"software", this_software()},
          {"build", digest_of_file(running_program().string())},
          {"cores", std::thread::hardware_concurrency()},
          {"load", load},
          {"gpus", gpus()},
          {"interfaces", interfaces()},
          {"sees_token", fs::exists(token, error)},
          {"may_write", may_write(fs::path(token).parent_path())}};
}

}  // namespace

void describe_machine() {
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "clock")
      fmt::print("{:.9f}\n",
                 std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count());
    else if (line.starts_with("describe "))
      fmt::print("{}\n", description(line.substr(9)).dump());
    std::fflush(stdout);
  }
}

}  // namespace tandem
