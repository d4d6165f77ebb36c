// Random reads of a file in a mounted directory: the context, with as many reads in flight as a plain program
// has threads, against that program; and fio's rate, where it is installed. The directory is that of
// TANDEM_BENCHMARK_DIRECTORY, or the current one.
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"
#include "runtime/mpi/mpi_context.hpp"
#include "tests/benchmarks/median.hpp"
#include "tests/benchmarks/turns.hpp"
#include "workloads/data/storage_file.hpp"

namespace tandem {
namespace {

constexpr std::int64_t file_bytes = std::int64_t{256} << 20;
constexpr int reads_per_turn = 512;

std::string directory() {
  const char* const chosen = std::getenv("TANDEM_BENCHMARK_DIRECTORY");
  return chosen == nullptr ? "." : chosen;
}

/// Written once per process, removed at its end.
const std::string& file_path() {
  struct File {
    std::string path = directory() + "/disk_reads-" + std::to_string(getpid()) + ".bin";
    File() {
      std::ofstream out(path, std::ios::binary);
      const std::vector<char> piece(std::size_t{1} << 20, 'x');
      for (std::int64_t done = 0; done < file_bytes; done += std::ssize(piece))
        out.write(piece.data(), std::ssize(piece));
      if (!out.flush()) throw WorldError("cannot write " + path);
    }
    ~File() { ::unlink(path.c_str()); }
  };
  static const File file;
  return file.path;
}

std::vector<std::int64_t> random_offsets(std::int64_t bytes, int count, std::uint64_t seed) {
  Rng random(seed);
  std::vector<std::int64_t> offsets;
  for (int i = 0; i < count; ++i)
    offsets.push_back(
        static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(file_bytes / bytes))) * bytes);
  return offsets;
}

/// Bytes per second; 0 without fio.
double fio_rate(std::int64_t bytes, int depth, bool cold) {
  const std::string out = file_path() + ".json";
  const std::string command =
      "fio --name=reads --readonly --rw=randread --ioengine=psync --thread --group_reporting --time_based "
      "--runtime=2 --output-format=json --invalidate=0 --filename='" +
      file_path() + "' --bs=" + std::to_string(bytes) + " --numjobs=" + std::to_string(depth) +
      " --direct=" + (cold ? "1" : "0") + " > '" + out + "' 2> /dev/null";
  const int status = std::system(command.c_str());
  std::ifstream file(out);
  const auto found = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  ::unlink(out.c_str());
  if (status != 0 || found.is_discarded()) return 0.0;
  return found.at("jobs").at(0).at("read").at("bw_bytes").get<double>();
}

constexpr Channel done{.stream = 7, .carries_note = false};

/// The two ways to read, with the same offsets and as many reads at the same time.
class Readers {
 public:
  Readers(MpiContext& context, std::int64_t bytes, int depth, bool cold)
      : context_(context),
        file_(file_path(), cold),
        offsets_(random_offsets(bytes, reads_per_turn, 7)),
        targets_(static_cast<std::size_t>(depth), std::vector<std::byte>(static_cast<std::size_t>(bytes))) {}

  const StorageFile& file() const { return file_; }

  void plain() {
    std::vector<std::thread> threads;
    for (std::size_t thread = 0; thread < targets_.size(); ++thread)
      threads.emplace_back([this, thread] {
        for (std::size_t i = thread; i < offsets_.size(); i += targets_.size())
          file_.read(offsets_[i], targets_[thread]);
      });
    for (auto& thread : threads) thread.join();
  }

  void by_context() {
    std::vector<Pending> flight(targets_.size());
    std::size_t next = 0;
    const auto start = [&](std::size_t i) {
      flight[i] = context_.read(0, Bytes(std::ssize(targets_[i])),
                                [this, i, offset = offsets_[next]] { file_.read(offset, targets_[i]); });
      ++next;
    };
    for (std::size_t i = 0; i < flight.size(); ++i) start(i);
    while (next < offsets_.size()) start(context_.wait_any(flight).index);
    context_.wait_all(flight);
  }

 private:
  MpiContext& context_;
  StorageFile file_;
  std::vector<std::int64_t> offsets_;
  std::vector<std::vector<std::byte>> targets_;
};

/// Arguments: bytes of a read, reads at the same time, whether they pass by the page cache. Rank 0 reads;
/// rank 1 waits without occupying a core.
void disk_reads(benchmark::State& state) {
  const std::int64_t bytes = state.range(0);
  const int depth = static_cast<int>(state.range(1));
  const bool cold = state.range(2) != 0;
  MpiContext context(MPI_COMM_WORLD, {.parallel_transfers = [depth](int) { return depth; }});
  if (context.rank() != 0) {
    for ([[maybe_unused]] auto iteration : state) state.SetIterationTime(1e-6);
    Pending end = context.receive(0, done, {});
    context.wait(end);
    return;
  }
  Readers readers(context, bytes, depth, cold);
  const auto timed_us = [](const auto& read) {
    const auto start = std::chrono::steady_clock::now();
    read();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  };
  const auto plain = [&] { readers.plain(); };
  const auto ours = [&] { readers.by_context(); };
  timed_us(plain);
  timed_us(ours);
  std::vector<double> plain_us;
  std::vector<double> ours_us;
  bool plain_first = true;
  for ([[maybe_unused]] auto iteration : state) {
    if (plain_first) plain_us.push_back(timed_us(plain));
    ours_us.push_back(timed_us(ours));
    if (!plain_first) plain_us.push_back(timed_us(plain));
    plain_first = !plain_first;
    state.SetIterationTime(1e-6 * ours_us.back());
  }
  // In bytes per microsecond.
  const double all = static_cast<double>(bytes) * reads_per_turn;
  const double rate = all / median(ours_us);
  state.counters["MB_per_s"] = rate;
  state.counters["plain_MB_per_s"] = all / median(plain_us);
  state.counters["of_plain"] = median(plain_us) / median(ours_us);
  if (const double fio = 1e-6 * fio_rate(bytes, depth, cold); fio > 0.0) {
    state.counters["fio_MB_per_s"] = fio;
    state.counters["of_fio"] = rate / fio;
  }
  state.SetLabel(describe(readers.file().page_cache()));
  Pending end = context.send(1, done, {}, {});
  context.wait(end);
}

}  // namespace

void add_disk_benchmarks() {
  for (const std::int64_t cold : {1, 0})
    for (const std::int64_t bytes : {4 << 10, 128 << 10, 1 << 20})
      for (const std::int64_t depth : {1, 4, 16})
        benchmark::RegisterBenchmark("disk_reads", disk_reads)
            ->ArgNames({"bytes", "depth", "cold"})
            ->Args({bytes, depth, cold})
            ->Iterations(9)
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond);
}

}  // namespace tandem
