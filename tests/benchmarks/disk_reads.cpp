// Random reads of a file in a mounted directory: the context, with as many reads in flight as a plain program
// has threads, against that program; and fio's rate, where it is installed. The context reads by io_uring,
// where there is one, and by its threads; into aligned memory, as fio does, and into memory that is not. All
// take turns. The directory is that of TANDEM_BENCHMARK_DIRECTORY, or the current one.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"
#include "runtime/mpi/mpi_context.hpp"
#include "runtime/mpi/read_ring.hpp"
#include "tests/benchmarks/median.hpp"
#include "tests/benchmarks/turns.hpp"
#include "workloads/data/storage_file.hpp"

namespace tandem {
namespace {

constexpr std::int64_t file_bytes = std::int64_t{256} << 20;
/// A turn is short: a shared disk that has delivered much lately delivers less, whoever comes next.
int reads_per_turn(std::int64_t bytes) {
  constexpr std::int64_t most_bytes = std::int64_t{64} << 20;
  return static_cast<int>(std::min<std::int64_t>(512, most_bytes / bytes));
}
/// Before each turn, as long as fio needs to start.
constexpr auto rest = std::chrono::milliseconds(250);

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
      "--runtime=100ms --output-format=json --invalidate=0 --filename='" +
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

struct Freed {
  void operator()(std::byte* memory) const { std::free(memory); }
};

/// The ways to read, with the same offsets and as many reads at the same time.
class Readers {
 public:
  Readers(std::int64_t bytes, int depth, bool cold)
      : file_(file_path(), cold), offsets_(random_offsets(bytes, reads_per_turn(bytes), 7)) {
    const auto size = static_cast<std::size_t>(bytes);
    for (int i = 0; i < depth; ++i) {
      memory_.emplace_back(static_cast<std::byte*>(std::aligned_alloc(alignment, size + alignment)));
      std::fill_n(memory_.back().get(), size + alignment, std::byte{1});
      aligned_.emplace_back(memory_.back().get(), size);
      unaligned_.emplace_back(memory_.back().get() + 16, size);
    }
  }

  const StorageFile& file() const { return file_; }

  void plain() {
    std::vector<std::thread> threads;
    for (std::size_t thread = 0; thread < aligned_.size(); ++thread)
      threads.emplace_back([this, thread] {
        for (std::size_t i = thread; i < offsets_.size(); i += aligned_.size())
          file_.read(offsets_[i], aligned_[thread]);
      });
    for (auto& thread : threads) thread.join();
  }

  void by_context(MpiContext& context, bool aligned) {
    const auto& targets = aligned ? aligned_ : unaligned_;
    std::vector<Pending> flight(targets.size());
    std::size_t next = 0;
    const auto start = [&](std::size_t i) {
      flight[i] = context.read(0, Bytes(std::ssize(targets[i])), file_.reading(offsets_[next], targets[i]));
      ++next;
    };
    for (std::size_t i = 0; i < flight.size(); ++i) start(i);
    while (next < offsets_.size()) start(context.wait_any(flight).index);
    context.wait_all(flight);
  }

 private:
  static constexpr std::size_t alignment = 4096;
  StorageFile file_;
  std::vector<std::int64_t> offsets_;
  std::vector<std::unique_ptr<std::byte, Freed>> memory_;
  std::vector<std::span<std::byte>> aligned_;
  std::vector<std::span<std::byte>> unaligned_;
};

/// Of one way to read.
struct Way {
  const char* name;
  std::function<void()> read;
  std::vector<double> us = {};

  void time() {
    std::this_thread::sleep_for(rest);
    const auto start = std::chrono::steady_clock::now();
    read();
    us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
};

/// Arguments: bytes of a read, reads at the same time, whether they pass by the page cache. Rank 0 reads;
/// rank 1 waits without occupying a core.
void disk_reads(benchmark::State& state) {
  const std::int64_t bytes = state.range(0);
  const int depth = static_cast<int>(state.range(1));
  const bool cold = state.range(2) != 0;
  const auto parallel = [depth](int) { return depth; };
  MpiContext context(MPI_COMM_WORLD, {.parallel_transfers = parallel});
  MpiContext by_threads(MPI_COMM_WORLD, {.parallel_transfers = parallel, .by_read_ring = false});
  if (context.rank() != 0) {
    for ([[maybe_unused]] auto iteration : state) state.SetIterationTime(1e-6);
    Pending end = context.receive(0, done, {});
    context.wait(end);
    return;
  }
  Readers readers(bytes, depth, cold);
  std::vector<Way> ways = {{"context", [&] { readers.by_context(context, true); }},
                           {"unaligned", [&] { readers.by_context(context, false); }},
                           {"threads", [&] { readers.by_context(by_threads, true); }},
                           {"plain", [&] { readers.plain(); }}};
  for (const Way& way : ways) way.read();
  std::size_t first = 0;
  std::vector<double> fio;
  for ([[maybe_unused]] auto iteration : state) {
    for (std::size_t i = 0; i < ways.size(); ++i) ways[(first + i) % ways.size()].time();
    ++first;
    fio.push_back(1e-6 * fio_rate(bytes, depth, cold));
    state.SetIterationTime(1e-6 * ways.front().us.back());
  }
  // In bytes per microsecond.
  const double all = static_cast<double>(bytes) * reads_per_turn(bytes);
  const auto rate = [&](std::size_t way) { return all / median(ways[way].us); };
  for (std::size_t way = 0; way < ways.size(); ++way)
    state.counters[std::string(ways[way].name) + "_MB_per_s"] = rate(way);
  state.counters["of_plain"] = rate(0) / rate(3);
  state.counters["of_threads"] = rate(0) / rate(2);
  if (const double of_fio = median(fio); of_fio > 0.0) {
    state.counters["fio_MB_per_s"] = of_fio;
    state.counters["of_fio"] = rate(0) / of_fio;
    state.counters["unaligned_of_fio"] = rate(1) / of_fio;
    state.counters["threads_of_fio"] = rate(2) / of_fio;
  }
  state.SetLabel(std::string(describe(readers.file().page_cache())) + (has_read_ring() ? ", io_uring" : ""));
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
            ->Iterations(5)
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond);
}

}  // namespace tandem
