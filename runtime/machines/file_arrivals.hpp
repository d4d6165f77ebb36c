// Copies finished files of other machines to this one while a job runs. When a machine is lost later, its
// files are here.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "policies/vocabulary/units.hpp"
#include "runtime/machines/guard_messages.hpp"
#include "runtime/machines/remote_shell.hpp"

namespace tandem::machines {

struct ArrivalSetting {
  std::string folders =
      {};                  ///< the paths of the machines' folders without the number at the end; empty: none
  std::string files = {};  ///< beginning of the paths of the files in such a folder, "checkpoints/round_"
  std::string into = {};   ///< the folder here in which they get the same paths
};

class FileArrivals {
 public:
  FileArrivals(RemoteShell shell, ArrivalSetting setting);
  /// Stops a running transfer: the caller copies what is missing in another way.
  ~FileArrivals();
  FileArrivals(const FileArrivals&) = delete;
  FileArrivals& operator=(const FileArrivals&) = delete;

  /// Copies the files to this machine, and does not wait. The files of one machine are copied one after the
  /// other, those of several machines concurrently. Each file appears atomically. A transfer that fails is
  /// repeated with the next files.
  void add(const std::string& machine, const std::vector<FinishedFile>& files);

 private:
  struct Machine {
    std::string name;
    std::deque<FinishedFile> waiting;
    std::thread thread;
  };
  void bring_all(Machine& machine, int number);
  /// False: not all arrived. Errors: WorldError when the transfer cannot be started.
  bool bring(const std::string& machine, const std::string& aside, const std::vector<FinishedFile>& files);
  bool is_ending() const;

  RemoteShell shell_;
  ArrivalSetting setting_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_ending_ = false;
  std::map<std::string, Machine> machines_;
};

}  // namespace tandem::machines
