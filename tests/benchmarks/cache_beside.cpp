// main() of cache_benchmark. With --beside it times `tandem cache` and a program of libCacheSim as whole
// processes on one trace, in alternation, reading included.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "tests/benchmarks/median.hpp"
#include "tests/benchmarks/zipf.hpp"

namespace tandem {
namespace {

namespace fs = std::filesystem;

struct Beside {
  std::string program;  ///< `cachesim` of libCacheSim, or "none"
  std::size_t requests = 50'000'000;
  std::vector<std::string> policies = {"fifo",  "lru", "clock", "sieve", "slru",    "random",    "lfu",
                                       "two-q", "arc", "lirs",  "gdsf",  "s3-fifo", "w-tinylfu", "lhd"};
  int repetitions = 3;
};

/// As libCacheSim calls it.
std::string other_name(const std::string& policy) {
  if (policy == "two-q") return "twoq";
  if (policy == "s3-fifo") return "s3fifo";
  if (policy == "w-tinylfu") return "wtinylfu";
  return policy;
}

/// In the format oracleGeneral, whose next requests no policy here needs.
void write_trace(const fs::path& path, std::size_t requests) {
  struct [[gnu::packed]] Row {
    std::uint32_t time = 0;
    std::uint64_t id = 0;
    std::uint32_t size = 1;
    std::int64_t next = -1;
  };
  static_assert(sizeof(Row) == 24);
  const testing::Zipf zipf(1'000'000);
  Rng rng(1);
  std::ofstream file(path, std::ios::binary);
  std::vector<Row> rows(1 << 16);
  for (std::size_t written = 0; written < requests; written += rows.size()) {
    rows.resize(std::min(rows.size(), requests - written));
    for (Row& row : rows) row.id = static_cast<std::uint64_t>(zipf.draw(rng)) + 1;
    file.write(reinterpret_cast<const char*>(rows.data()),
               static_cast<std::streamsize>(rows.size() * sizeof(Row)));
  }
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

double seconds_of(const std::string& command) {
  const auto begin = std::chrono::steady_clock::now();
  if (std::system((command + " > /dev/null").c_str()) != 0) throw std::runtime_error("failed: " + command);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void time_policy(const std::string& policy, const Beside& beside, const fs::path& trace) {
  const fs::path own = fs::read_symlink("/proc/self/exe").parent_path() / "tandem";
  const std::string ours = fmt::format("'{}' cache '{}' oracleGeneral {} 100000 --ignore-size -j 1 --quiet",
                                       own.string(), trace.string(), policy);
  const std::string theirs =
      fmt::format("'{}' '{}' oracleGeneral {} 100000 --ignore-obj-size 1 --num-thread 1", beside.program,
                  trace.string(), other_name(policy));
  std::vector<double> our_seconds, their_seconds;
  for (int i = 0; i < beside.repetitions; ++i) {
    our_seconds.push_back(seconds_of(ours));
    if (beside.program != "none") their_seconds.push_back(seconds_of(theirs));
  }
  const auto rate = [&](const std::vector<double>& seconds) {
    return static_cast<double>(beside.requests) / median(seconds) / 1e6;
  };
  fmt::print("{:<12} {:>20.1f}", policy, rate(our_seconds));
  if (!their_seconds.empty())
    fmt::print(" {:>14.1f} {:>8.2f}", rate(their_seconds), rate(our_seconds) / rate(their_seconds));
  fmt::print("\n");
  std::fflush(stdout);
}

int time_beside(const Beside& beside) {
  const fs::path trace =
      fs::temp_directory_path() / fmt::format("cache_benchmark.{}.oracleGeneral.bin", getpid());
  try {
    write_trace(trace, beside.requests);
    fmt::print(
        "{} requests, Zipf(1) over 1,000,000 objects, capacity 100,000, one core, reading included; medians "
        "of {}\n",
        beside.requests, beside.repetitions);
    fmt::print("{:<12} {:>20}", "policy", "tandem, M requests/s");
    if (beside.program != "none") fmt::print(" {:>14} {:>8}", "libCacheSim", "ratio");
    fmt::print("\n");
    for (const auto& policy : beside.policies) time_policy(policy, beside, trace);
  } catch (const std::exception& error) {
    fs::remove(trace);
    fmt::print(stderr, "cache_benchmark: {}\n", error.what());
    return 1;
  }
  fs::remove(trace);
  return 0;
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  tandem::Beside beside;
  CLI::App app("Times cache policies; all other options are those of Google Benchmark");
  app.allow_extras();
  app.set_help_flag();
  app.add_option(
      "--beside", beside.program,
      "Path of libCacheSim's cachesim: times it and `tandem cache` on one trace; none: only tandem");
  app.add_option("--requests", beside.requests)
      ->check(CLI::Range(std::size_t{1}, std::size_t{4'000'000'000}));
  app.add_option("--policies", beside.policies)->delimiter(',');
  app.add_option("--repetitions", beside.repetitions)->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  if (!beside.program.empty()) return tandem::time_beside(beside);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
