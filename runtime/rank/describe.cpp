#include "runtime/rank/describe.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
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

#include "runtime/machines/remote_shell.hpp"
#include "runtime/process/running_program.hpp"
#include "workloads/cost/profile.hpp"
#include "workloads/job/check/identity.hpp"

namespace tandem {
namespace {

namespace fs = std::filesystem;

std::int64_t gpus() {
  std::error_code none;
  const fs::directory_iterator folder("/proc/driver/nvidia/gpus", none);
  return none ? 0 : std::distance(begin(folder), end(folder));
}

/// Name to addresses of IPv4: {"lo": ["127.0.0.1"], "eth0": ["10.0.0.1"]}.
nlohmann::json interfaces() {
  nlohmann::json addresses = nlohmann::json::object();
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return addresses;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    nlohmann::json& known = addresses[one->ifa_name];
    if (known.is_null()) known = nlohmann::json::array();
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN] = {};
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text, sizeof(text));
    known.push_back(text);
  }
  freeifaddrs(first);
  return addresses;
}

/// Into the folder, which need not exist yet.
bool may_write(fs::path folder) {
  std::error_code error;
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  return access(folder.c_str(), W_OK) == 0;
}

nlohmann::json description(const std::string& token) {
  double load = 0.0;
  if (getloadavg(&load, 1) != 1) load = 0.0;
  std::error_code error;
  return {{"host", machines::this_machine_name()},
          {"software", this_software()},
          {"build", digest_of_file(running_program().string())},
          {"cores", std::thread::hardware_concurrency()},
          {"load", load},
          {"gpus", gpus()},
          {"interfaces", interfaces()},
          {"sees_token", fs::exists(token, error)},
          {"may_write", may_write(fs::path(token).parent_path())}};
}

/// The contents of each file as its size and digest; null where it cannot be read.
nlohmann::json contents(const std::vector<std::string>& paths) {
  nlohmann::json all = nlohmann::json::array();
  for (const std::string& path : paths) {
    try {
      all.push_back({{"bytes", fs::file_size(path)}, {"digest", digest_of_file(path)}});
    } catch (const std::exception&) {
      all.push_back(nullptr);
    }
  }
  return all;
}

}  // namespace

void describe_machine() {
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "clock")
      fmt::print("{:.9f}\n",
                 std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count());
    else if (line.starts_with("describe "))
      fmt::print("{}\n", description(line.substr(9)).dump());
    else if (line.starts_with("files "))
      fmt::print("{}\n", contents(nlohmann::json::parse(line.substr(6))).dump());
    std::fflush(stdout);
  }
}

}  // namespace tandem
