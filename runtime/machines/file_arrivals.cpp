#include "runtime/machines/file_arrivals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <optional>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "runtime/process/descriptor.hpp"
#include "runtime/process/process.hpp"

namespace tandem::machines {
namespace {

namespace fs = std::filesystem;

constexpr Seconds end_check_interval{0.1};
/// Files in one command line.
constexpr std::size_t most_files = 100;

}  // namespace

FileArrivals::FileArrivals(RemoteShell shell, ArrivalSetting setting)
    : shell_(std::move(shell)), setting_(std::move(setting)) {}

FileArrivals::~FileArrivals() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  for (auto& [name, machine] : machines_) machine.thread.join();
}

bool FileArrivals::is_ending() const {
  const std::lock_guard lock(mutex_);
  return is_ending_;
}

void FileArrivals::add(const std::string& machine, const std::vector<FinishedFile>& files) {
  const std::lock_guard lock(mutex_);
  auto [place, is_new] = machines_.try_emplace(machine);
  Machine& entry = place->second;
  entry.waiting.insert(entry.waiting.end(), files.begin(), files.end());
  if (is_new) {
    entry.name = machine;
    entry.thread = std::thread([this, &entry, number = machines_.size()] {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_BLOCK, &all, nullptr);
      bring_all(entry, static_cast<int>(number));
    });
  }
  changed_.notify_all();
}

void FileArrivals::bring_all(Machine& machine, int number) {
  const std::string aside = fmt::format("{}/.arriving-{}", setting_.into, number);
  std::size_t tried = 0;  // files that wait since a transfer has failed
  for (;;) {
    std::vector<FinishedFile> files;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return is_ending_ || machine.waiting.size() > tried; });
      if (is_ending_) break;
      for (const auto& file : machine.waiting)
        if (files.size() < most_files && file.folder == machine.waiting.front().folder) files.push_back(file);
    }
    bool arrived = false;
    try {
      arrived = bring(machine.name, aside, files);
    } catch (const WorldError&) {
      // Tried again with the next files.
    }
    const std::lock_guard lock(mutex_);
    if (arrived)
      std::erase_if(machine.waiting, [&](const FinishedFile& file) {
        return std::find(files.begin(), files.end(), file) != files.end();
      });
    tried = arrived ? 0 : machine.waiting.size();
  }
  std::error_code none;
  fs::remove_all(aside, none);
}

bool FileArrivals::bring(const std::string& machine, const std::string& aside,
                         const std::vector<FinishedFile>& files) {
  std::vector<std::string> names;
  for (const auto& file : files) names.push_back(file.path);
  std::error_code error;
  fs::create_directories(aside, error);
  const Descriptor nowhere = create_file("/dev/null");
  Process transfer =
      start_program({.words = {"sh", "-c", fetch_line(shell_, machine, files.front().folder, names, aside)},
                     .output = nowhere.number(),
                     .errors = nowhere.number(),
                     .own_group = true,
                     .signal_on_parent_end = SIGKILL});
  std::optional<ExitStatus> status;
  while (!(status = transfer.wait_for(end_check_interval)))
    if (is_ending()) transfer.kill();
  if (!status->succeeded()) return false;
  for (const auto& name : names) {
    const fs::path place = fs::path(setting_.into) / name;
    fs::create_directories(place.parent_path(), error);
    fs::rename(fs::path(aside) / name, place, error);
    if (error) return false;
  }
  return true;
}

}  // namespace tandem::machines
