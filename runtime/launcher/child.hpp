// mpirun as a child process: started in a group of its own, its output as lines, and whatever it leaves
// behind found and killed. Used by the launcher alone.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tandem {

/// Cuts what arrives on a file descriptor into lines.
class LineReader {
 public:
  LineReader(int descriptor, std::function<void(const std::string&)> on_line);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  int descriptor() const { return descriptor_; }
  bool open() const { return descriptor_ >= 0; }
  /// Reads what is there without blocking; at the end of the stream passes the last line on and closes.
  void read_some();

 private:
  int descriptor_;
  std::function<void(const std::string&)> on_line_;
  std::string rest_;
};

class Child {
 public:
  /// Starts it with standard input from nowhere and, in its environment, a mark that every process of the job
  /// inherits. It gets SIGTERM if this process dies. Errors: WorldError.
  Child(const std::vector<std::string>& words, const sigset_t& signals);
  /// Kills what is left of the job.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Ends of the pipes from its standard output and standard error; the caller closes them.
  int output() const { return output_; }
  int error() const { return error_; }
  /// waitpid's status once it has ended.
  std::optional<int> ended();
  void signal(int number) const;
  /// Kills it and every process of this machine that bears the job's mark, and waits until they are gone.
  void kill_all();

 private:
  std::string mark_;
  pid_t process_ = -1;
  std::optional<int> status_;
  int output_ = -1;
  int error_ = -1;
};

}  // namespace tandem
