// A rank program for peer_death_test: rank 2 kills itself, and the others report which of their operations
// end. Each report is a line of a file, "rank R OPERATION OUTCOME", because mpirun may lose output after a
// death. Nothing here waits without a bound: SIGALRM ends every rank.
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "runtime/process/process_list.hpp"

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int victim = 2;
constexpr int tag_of_process = 1;
constexpr int tag_of_data = 2;
/// More than a transport moves before the victim dies.
constexpr int bytes_under_way = 128'000'000;
/// An operation that has not ended by then counts as one that never ends.
constexpr auto patience = 3s;
constexpr unsigned whole_run_seconds = 15;
constexpr unsigned finalize_seconds = 3;

// For the signal handler, too.
int rank = -1;
int report_file = -1;

void report(const char* operation, const char* outcome) {
  // One write to the end of the file, so that lines of several ranks do not mix.
  char line[80];
  const int length = std::snprintf(line, sizeof(line), "rank %d %s %s\n", rank, operation, outcome);
  if (write(report_file, line, static_cast<std::size_t>(length)) != length) _exit(3);
}

/// Operations that were started, and what becomes of them.
class Operations {
 public:
  void receive(int bytes) {
    start("receive", bytes, [&](char* data, MPI_Request* request) {
      return MPI_Irecv(data, bytes, MPI_BYTE, victim, tag_of_data, MPI_COMM_WORLD, request);
    });
  }
  void send(const char* name, int bytes) {
    start(name, bytes, [&](char* data, MPI_Request* request) {
      return MPI_Isend(data, bytes, MPI_BYTE, victim, tag_of_data, MPI_COMM_WORLD, request);
    });
  }
  void barrier(MPI_Comm communicator) {
    start("barrier-of-survivors", 0,
          [&](char*, MPI_Request* request) { return MPI_Ibarrier(communicator, request); });
  }
  void poll_all() {
    for (auto& one : all_) poll(one);
  }
  void report_all() {
    const auto until = Clock::now() + patience;
    for (; Clock::now() < until; std::this_thread::sleep_for(1ms)) poll_all();
    for (const auto& one : all_) report(one.name, one.outcome);
  }

 private:
  struct Operation {
    const char* name;
    std::vector<char> data;
    MPI_Request request = MPI_REQUEST_NULL;
    const char* outcome = "never";
  };
  template <class Start>
  void start(const char* name, int bytes, const Start& start_one) {
    auto& one = all_.emplace_back(Operation{name, std::vector<char>(static_cast<std::size_t>(bytes), 'x')});
    if (start_one(one.data.data(), &one.request) != MPI_SUCCESS) one.outcome = "fails";
  }
  static void poll(Operation& one) {
    if (std::strcmp(one.outcome, "never") != 0) return;
    int ended = 0;
    const int error = MPI_Test(&one.request, &ended, MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS)
      one.outcome = "fails";
    else if (ended != 0)
      one.outcome = "ends";
  }
  std::vector<Operation> all_;
};

/// Returns when the first bytes of what rank 0 sends have arrived.
void begin_to_receive() {
  static std::vector<char> data(bytes_under_way, '\0');
  MPI_Request receive = MPI_REQUEST_NULL;
  MPI_Irecv(data.data(), bytes_under_way, MPI_BYTE, 0, tag_of_data, MPI_COMM_WORLD, &receive);
  int ended = 0;
  while (ended == 0 && data.front() == '\0') MPI_Test(&receive, &ended, MPI_STATUS_IGNORE);
}

[[noreturn]] void die(bool in_a_message) {
  const int process = getpid();
  MPI_Send(&process, 1, MPI_INT, 0, tag_of_process, MPI_COMM_WORLD);
  if (in_a_message) begin_to_receive();
  raise(SIGKILL);
  _exit(3);
}

/// Only rank 0 exchanges messages with the victim: rank 1 never exchanges a message with it.
pid_t process_of_victim() {
  int process = 0;
  MPI_Recv(&process, 1, MPI_INT, rank == 0 ? victim : 0, tag_of_process, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 0) MPI_Send(&process, 1, MPI_INT, 1, tag_of_process, MPI_COMM_WORLD);
  return process;
}

void await_death(pid_t process, Operations& operations) {
  for (; !tandem::process_identity(process).empty(); std::this_thread::sleep_for(1ms)) operations.poll_all();
  // mpirun, and the other ends of its connections, take a moment to notice.
  std::this_thread::sleep_for(300ms);
  report("death", "seen");
}

MPI_Comm communicator_of_survivors() {
  MPI_Group all = MPI_GROUP_NULL, survivors = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_excl(all, 1, &victim, &survivors);
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_create_group(MPI_COMM_WORLD, survivors, 0, &made);
  return made;
}

/// Pre: the victim dies in a message if `in_a_message`.
void observe(bool in_a_message, Operations& operations) {
  const MPI_Comm survivors = communicator_of_survivors();
  operations.receive(8);
  const pid_t process = process_of_victim();
  if (in_a_message && rank == 0) operations.send("send-under-way", bytes_under_way);
  await_death(process, operations);
  operations.barrier(survivors);
  operations.send("small-send", 8);
  operations.send("large-send", 8'000'000);
  operations.report_all();
}

}  // namespace

/// Arguments: what the survivors do, and the file of their reports. "wait": they sleep after the death.
/// "idle": the victim dies between messages, then they try every operation, and end with MPI_Finalize.
/// "message": the same, but the victim dies while it receives a message of rank 0.
int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(whole_run_seconds);
  MPI_Init(&argc, &argv);
  if (argc != 3) return 2;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  report_file = open(argv[2], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const bool in_a_message = std::strcmp(argv[1], "message") == 0;
  if (rank == victim) die(in_a_message);
  // The library may use the memory of operations that never end until MPI_Finalize.
  static Operations operations;
  if (std::strcmp(argv[1], "wait") == 0) {
    await_death(process_of_victim(), operations);
    std::this_thread::sleep_for(std::chrono::seconds(whole_run_seconds));
  }
  observe(in_a_message, operations);
  signal(SIGALRM, [](int) {
    report("finalize", "never");
    _exit(0);
  });
  alarm(finalize_seconds);
  MPI_Finalize();
  alarm(0);
  report("finalize", "ends");
}
