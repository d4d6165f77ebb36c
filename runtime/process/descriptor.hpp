// A file descriptor with one owner, and pipes made of two. Every descriptor made here is closed on exec, so
// that no other program inherits it by accident.
#pragma once

#include <string>
#include <string_view>

namespace tandem {

/// Owns a file descriptor and closes it.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { close(); }

  /// -1 if it is closed.
  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  void close();
  /// Gives the descriptor away without closing it.
  int release();

 private:
  int number_ = -1;
};

struct Pipe {
  Descriptor read_end;
  Descriptor write_end;
};
/// Errors: WorldError when the system has no descriptor left.
Pipe make_pipe();

/// A file in memory that has no name. Errors: WorldError.
Descriptor make_memory_file();
/// Opens `path` for writing and empties it. Errors: WorldError naming the path.
Descriptor create_file(const std::string& path);

/// Writes all of `text`. Errors: WorldError, also when the reader of a pipe is gone and SIGPIPE is ignored.
void write_all(int descriptor, std::string_view text);
/// Everything from the beginning of a file. Errors: WorldError.
std::string read_file_from_start(int descriptor);

}  // namespace tandem
