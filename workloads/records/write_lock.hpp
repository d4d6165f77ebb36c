// The right to write a result directory or a file, held by one job at a time. The kernel releases it when the
// processes of the job end, however they end.
#pragma once

#include <optional>
#include <string>

namespace tandem {

/// Holds the lock file of a directory or file. Where the file system has no locks, it protects nothing.
class WriteLock {
 public:
  enum class Use {
    alone,     ///< no other process may hold it
    with_job,  ///< the processes of one job hold it together; excludes `alone`
  };
  /// Of a directory, which exists: the file LOCK in it. Of a file, which need not exist: `PATH.lock`.
  /// `with_job` waits two seconds for a process of the job that holds it alone while it begins or ends.
  /// Errors: ConfigError naming the process that holds it and its command; WorldError when the lock file
  /// cannot be written.
  explicit WriteLock(const std::string& path, Use use = Use::alone);
  /// Alone; nothing if a process holds it. Errors: WorldError as above.
  static std::optional<WriteLock> if_free(const std::string& path);
  WriteLock(WriteLock&& other) noexcept;
  WriteLock& operator=(WriteLock&&) = delete;
  /// Removes the lock file, unless another process of the job holds it.
  ~WriteLock();

  /// Changes `alone` to `with_job`.
  void share() const;

 private:
  WriteLock() = default;
  /// Whether it is held now; `operation` as flock takes it.
  bool take(const std::string& path, int operation);
  void write_holder(Use use) const;

  std::string file_;
  int descriptor_ = -1;
};

/// Name of the lock file in a directory.
inline constexpr const char* lock_file_name = "LOCK";

/// Errors: ConfigError as WriteLock, when a process holds the lock of this directory or of one below it.
void expect_not_written(const std::string& directory);

}  // namespace tandem
