// Runs mutated inputs without libFuzzer: each batch runs in a child process. If a crash, a hang or too much
// memory ends the child, another child continues after that input. The same seed gives the same inputs.
//
//   fuzz_driver --corpus DIR [--kind KIND]... [--inputs N] [--seed S] [--findings DIR]
//   fuzz_driver --kind KIND --input FILE       reads one file, for example a finding, and prints the result
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "policies/vocabulary/rng.hpp"
#include "policies/vocabulary/stream_text.hpp"
#include "tests/fuzz/kinds.hpp"
#include "tests/fuzz/mutate.hpp"

namespace tandem::fuzz {
namespace {

namespace fs = std::filesystem;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitised = true;
#else
constexpr bool sanitised = false;
#endif

// Limits per input. On a loaded machine wall-clock time exceeds CPU time.
constexpr int most_cpu_s = sanitised ? 15 : 5;
constexpr int most_wall_s = 60;
constexpr std::size_t most_memory = std::size_t{1} << 30;
constexpr std::uint64_t inputs_per_process = 5000;
constexpr int most_findings = 10;

struct Settings {
  fs::path corpus;
  fs::path findings;
  std::vector<const Kind*> kinds;
  fs::path input;  ///< empty: mutated ones
  std::uint64_t inputs = 2000;
  std::uint64_t seed = 1;
};

/// Progress of the child in shared memory: it outlives the child.
struct Progress {
  std::uint64_t index;
  std::uint64_t accepted;
  std::size_t size;
  char input[longest_input];
};

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return rest_of(file);
}

std::vector<std::string> read_corpus(const fs::path& folder) {
  std::vector<fs::path> paths;
  if (fs::is_directory(folder))
    for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> corpus;
  for (const auto& path : paths) corpus.push_back(read_file(path).substr(0, longest_input));
  return corpus;
}

void set_timers(int cpu_s, int wall_s) {
  const itimerval cpu{{0, 0}, {cpu_s, 0}};
  setitimer(ITIMER_PROF, &cpu, nullptr);
  alarm(static_cast<unsigned>(wall_s));
}

std::size_t address_space() {
  std::ifstream file("/proc/self/statm");
  std::size_t pages = 0;
  file >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// Sanitisers reserve more address space than there is memory.
void limit_memory() {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (sanitised) return;
  const rlimit memory{address_space() + most_memory, address_space() + most_memory};
  setrlimit(RLIMIT_AS, &memory);
}

void check_memory(long before_kib) {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  if (static_cast<std::size_t>(used.ru_maxrss - before_kib) << 10 <= most_memory) return;
  std::fprintf(stderr, "used %ld MiB of memory\n", used.ru_maxrss >> 10);
  std::abort();
}

/// Fuzzes one kind of input.
class Run {
 public:
  Run(const Settings& settings, const Kind& kind, fs::path scratch)
      : settings_(settings),
        kind_(kind),
        scratch_(std::move(scratch)),
        corpus_(read_corpus(settings.corpus / kind.name)),
        progress_(static_cast<Progress*>(
            mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    if (progress_ == MAP_FAILED) throw std::runtime_error("cannot share memory with the child process");
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() { munmap(progress_, sizeof(Progress)); }

  /// The number of findings.
  int play() {
    if (corpus_.empty()) {
      std::printf("%-13s no corpus in %s\n", kind_.name, (settings_.corpus / kind_.name).c_str());
      return 1;
    }
    int findings = 0;
    std::uint64_t next = 0;
    while (next < settings_.inputs && findings < most_findings) {
      const std::uint64_t end = std::min(settings_.inputs, next + inputs_per_process);
      const int status = play_batch(next, end);
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        next = end;
        continue;
      }
      ++findings;
      keep_finding(status);
      next = progress_->index + 1;
    }
    std::printf("%-13s %llu inputs, %llu accepted, %d findings\n", kind_.name,
                static_cast<unsigned long long>(next), static_cast<unsigned long long>(progress_->accepted),
                findings);
    std::fflush(stdout);
    return findings;
  }

 private:
  /// The corpus itself comes first, unchanged.
  std::string input_of(std::uint64_t index) const {
    if (index < corpus_.size()) return corpus_[index];
    Rng random = Rng::stream(settings_.seed + index, kind_.name);
    return mutated(corpus_, kind_.is_text, random);
  }

  /// Returns the status of the child process.
  int play_batch(std::uint64_t begin, std::uint64_t end) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("cannot start a process");
    if (child == 0) run_child(begin, end);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    // A reader may have started a child.
    kill(-child, SIGKILL);
    return status;
  }

  [[noreturn]] void run_child(std::uint64_t begin, std::uint64_t end) {
    setpgid(0, 0);
    const fs::path folder = scratch_ / kind_.name;
    fs::create_directories(folder);
    fs::current_path(folder);
    const int log = open((scratch_ / "log").c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0600);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    // Resources loaded by the first input (libraries, catalogues) do not count towards its limits.
    begin_input(begin);
    set_timers(10 * most_cpu_s, 3 * most_wall_s);
    read_or_abort(kind_, input_of(begin), folder);
    limit_memory();
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    for (std::uint64_t index = begin; index < end; ++index) {
      begin_input(index);
      if (ftruncate(log, 0) != 0) _exit(1);
      set_timers(most_cpu_s, most_wall_s);
      const bool accepted = read_or_abort(kind_, {progress_->input, progress_->size}, folder).empty();
      set_timers(0, 0);
      check_memory(used.ru_maxrss);
      progress_->accepted += accepted ? 1 : 0;
    }
    _exit(0);
  }

  void begin_input(std::uint64_t index) {
    const std::string input = input_of(index);
    progress_->index = index;
    progress_->size = input.size();
    std::copy(input.begin(), input.end(), progress_->input);
  }

  void keep_finding(int status) const {
    const std::string name =
        std::string(kind_.name) + '-' + std::to_string(settings_.seed + progress_->index);
    fs::create_directories(settings_.findings);
    std::ofstream(settings_.findings / name, std::ios::binary)
        .write(progress_->input, static_cast<std::streamsize>(progress_->size));
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const std::string end = signal == SIGPROF || signal == SIGALRM ? "hang"
                            : signal != 0                          ? strsignal(signal)
                                          : "exit " + std::to_string(WEXITSTATUS(status));
    std::printf("FINDING %s: input %llu: %s; kept as %s\n", kind_.name,
                static_cast<unsigned long long>(progress_->index), end.c_str(),
                (settings_.findings / name).c_str());
    const std::string log = read_file(scratch_ / "log");
    std::printf("%s\n", log.substr(log.size() - std::min<std::size_t>(log.size(), 3000)).c_str());
  }

  const Settings& settings_;
  const Kind& kind_;
  fs::path scratch_;
  std::vector<std::string> corpus_;
  Progress* progress_;
};

[[noreturn]] void fail_usage(const std::string& what) {
  std::fprintf(stderr, "fuzz_driver: %s\n", what.c_str());
  std::exit(2);
}

Settings parse(const std::vector<std::string>& words) {
  Settings settings;
  settings.findings = "fuzz-findings";
  for (std::size_t i = 0; i < words.size(); i += 2) {
    if (i + 1 == words.size()) fail_usage("no value after " + words[i]);
    const std::string& value = words[i + 1];
    if (words[i] == "--corpus")
      settings.corpus = fs::absolute(value);
    else if (words[i] == "--input")
      settings.input = fs::absolute(value);
    else if (words[i] == "--findings")
      settings.findings = value;
    else if (words[i] == "--inputs")
      settings.inputs = std::stoull(value);
    else if (words[i] == "--seed")
      settings.seed = std::stoull(value);
    else if (words[i] != "--kind")
      fail_usage("unknown option " + words[i]);
    else if (const Kind* kind = find_kind(value); kind != nullptr)
      settings.kinds.push_back(kind);
    else
      fail_usage("unknown kind " + value);
  }
  if (settings.kinds.empty())
    for (const auto& kind : kinds()) settings.kinds.push_back(&kind);
  settings.findings = fs::absolute(settings.findings);
  return settings;
}

int run(const Settings& settings) {
  std::string scratch =
      fs::is_directory("/dev/shm") ? "/dev/shm/tandem-fuzz-XXXXXX" : "/tmp/tandem-fuzz-XXXXXX";
  if (mkdtemp(scratch.data()) == nullptr) fail_usage("cannot make a folder for inputs");
  if (!settings.input.empty()) {
    const std::string text = read_file(settings.input);
    for (const Kind* kind : settings.kinds) {
      const std::string error = read_or_abort(*kind, text, scratch);
      std::printf("%s: %s\n", kind->name, error.empty() ? "accepted" : error.c_str());
    }
  }
  int findings = 0;
  if (settings.input.empty())
    for (const Kind* kind : settings.kinds) findings += Run(settings, *kind, scratch).play();
  std::error_code ignored;
  fs::remove_all(scratch, ignored);
  return findings == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tandem::fuzz

int main(int count, char** words) {
  return tandem::fuzz::run(tandem::fuzz::parse({words + 1, words + count}));
}
