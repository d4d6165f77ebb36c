#include "runtime/mpi/transfers.hpp"

#include <pthread.h>

#include <chrono>
#include <utility>

#include "policies/vocabulary/caught_error.hpp"
#include "runtime/mpi/ring_transfers.hpp"
#include "runtime/mpi/transfer_threads.hpp"

namespace tandem {

std::string failed_transfer(int disk) { return "a transfer of disk " + std::to_string(disk) + " failed"; }

void end_transfer(Transfer& transfer, const std::function<void()>& last) {
  transfer.error = caught_error(last, [&] { return failed_transfer(transfer.disk); });
  transfer.run = nullptr;
  transfer.ended_at =
      Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count());
  transfer.has_ended.store(true, std::memory_order_release);
}

std::unique_ptr<Transfers> make_transfers(std::function<int(int disk)> parallel, bool by_ring) {
  if (by_ring) return std::make_unique<RingTransfers>(std::move(parallel));
  return std::make_unique<TransferThreads>(std::move(parallel));
}

NoSignals::NoSignals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before_);
}
NoSignals::~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace tandem
