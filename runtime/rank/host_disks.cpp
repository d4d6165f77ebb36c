#include "runtime/rank/host_disks.hpp"

#include <pthread.h>

#include <cerrno>
#include <exception>
#include <new>

#include "policies/vocabulary/check.hpp"
#include "runtime/mpi/machine_ranks.hpp"
#include "runtime/mpi/mpi_check.hpp"

namespace tandem {

struct HostDisks::Queue {
  pthread_mutex_t mutex;
  DiskQueue queue;
};

namespace {

/// A rank that is killed while it holds the mutex leaves it to the others.
void make_shared_mutex(pthread_mutex_t& mutex) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

class Locked {
 public:
  explicit Locked(pthread_mutex_t& mutex) : mutex_(mutex) {
    const int error = pthread_mutex_lock(&mutex_);
    if (error == EOWNERDEAD)
      pthread_mutex_consistent(&mutex_);
    else
      TANDEM_CHECK(error == 0, "error", error);
  }
  ~Locked() { pthread_mutex_unlock(&mutex_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

}  // namespace

HostDisks::HostDisks(MPI_Comm communicator, int host, int disks) : disks_(host < 0 ? 0 : disks) {
  const MachineRanks machine(communicator);
  MPI_Comm ranks = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(machine.communicator(), disks_ > 0 ? host : MPI_UNDEFINED, 0, &ranks),
            "MPI_Comm_split");
  if (ranks == MPI_COMM_NULL) return;
  int rank = 0;
  int size = 0;
  check_mpi(MPI_Comm_rank(ranks, &rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(ranks, &size), "MPI_Comm_size");
  const auto bytes = static_cast<MPI_Aint>(sizeof(Queue)) * disks_;
  if (size == 1) {
    queues_ = static_cast<Queue*>(::operator new(static_cast<std::size_t>(bytes)));
  } else {
    check_mpi(MPI_Win_allocate_shared(rank == 0 ? bytes : 0, 1, MPI_INFO_NULL, ranks, &queues_, &window_),
              "MPI_Win_allocate_shared");
    MPI_Aint of_first = 0;
    int unit = 0;
    check_mpi(MPI_Win_shared_query(window_, 0, &of_first, &unit, &queues_), "MPI_Win_shared_query");
  }
  if (rank == 0)
    for (int disk = 0; disk < disks_; ++disk) make_shared_mutex((new (queues_ + disk) Queue{})->mutex);
  check_mpi(MPI_Barrier(ranks), "MPI_Barrier");
  check_mpi(MPI_Comm_free(&ranks), "MPI_Comm_free");
}

HostDisks::~HostDisks() {
  // Freeing is collective: a rank that leaves by an exception must not wait for the others.
  if (window_ == MPI_WIN_NULL)
    ::operator delete(queues_);
  else if (std::uncaught_exceptions() == 0)
    MPI_Win_free(&window_);
}

Seconds HostDisks::serve(int disk, Seconds arrival, const DiskService& service, std::int64_t requests,
                         Seconds moving) {
  TANDEM_CHECK(disk >= 0 && disk < disks_, "disk", disk, "of", disks_);
  Queue& queue = queues_[disk];
  const Locked locked(queue.mutex);
  return queue.queue.serve(arrival, service, requests, moving);
}

}  // namespace tandem
