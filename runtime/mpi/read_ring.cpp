#include "runtime/mpi/read_ring.hpp"

#include <liburing.h>
#include <signal.h>

#include <cstring>

namespace tandem {
namespace {

constexpr unsigned entries = 256;
/// Waits with a limit of time that do not touch the queue of requests (Linux 5.11).
constexpr unsigned needed_features = IORING_FEAT_EXT_ARG | IORING_FEAT_NODROP;

class Uring final : public ReadRing {
 public:
  Uring() : has_ring_(io_uring_queue_init(entries, &ring_, 0) == 0) {}
  ~Uring() override {
    if (has_ring_) io_uring_queue_exit(&ring_);
  }
  Uring(const Uring&) = delete;
  Uring& operator=(const Uring&) = delete;

  bool is_usable() const { return has_ring_ && (ring_.features & needed_features) == needed_features; }

  bool start(const FileRead& request, std::uint64_t tag) override {
    io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
    if (entry == nullptr) return false;
    io_uring_prep_read(entry, request.file, request.target.data(),
                       static_cast<unsigned>(request.target.size()),
                       static_cast<std::uint64_t>(request.offset));
    io_uring_sqe_set_data64(entry, tag);
    return submit(entry);
  }

  std::optional<End> take() override {
    while (true) {
      io_uring_cqe* completion = nullptr;
      if (io_uring_peek_cqe(&ring_, &completion) != 0 || completion == nullptr) return std::nullopt;
      const End end{io_uring_cqe_get_data64(completion), completion->res};
      io_uring_cqe_seen(&ring_, completion);
      if (end.tag != 0) return end;
    }
  }

  void wait(Seconds at_most) override {
    const auto whole = static_cast<std::int64_t>(at_most.count());
    __kernel_timespec limit{};
    limit.tv_sec = whole;
    limit.tv_nsec = static_cast<long long>(1e9 * (at_most.count() - static_cast<double>(whole)));
    io_uring_getevents_arg argument{};
    argument.sigmask_sz = _NSIG / 8;
    argument.ts = reinterpret_cast<std::uintptr_t>(&limit);
    io_uring_enter2(static_cast<unsigned>(ring_.ring_fd), 0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG,
                    reinterpret_cast<sigset_t*>(&argument), sizeof(argument));
  }

  void wake() override {
    io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
    if (entry == nullptr) return;
    io_uring_prep_nop(entry);
    io_uring_sqe_set_data64(entry, 0);
    submit(entry);
  }

 private:
  /// The entry is the last one of the queue. If the kernel does not accept it now, it would be submitted
  /// with the next one: so it is replaced by an entry that does nothing.
  bool submit(io_uring_sqe* entry) {
    int taken = 0;
    do taken = io_uring_submit(&ring_);
    while (taken == -EINTR || (taken > 0 && io_uring_sq_ready(&ring_) > 0));
    if (io_uring_sq_ready(&ring_) == 0) return true;
    io_uring_prep_nop(entry);
    io_uring_sqe_set_data64(entry, 0);
    return false;
  }

  io_uring ring_{};
  bool has_ring_;
};

}  // namespace

std::unique_ptr<ReadRing> make_read_ring() {
  auto ring = std::make_unique<Uring>();
  if (!ring->is_usable()) return nullptr;
  return ring;
}

bool has_read_ring() {
  static const bool has = make_read_ring() != nullptr;
  return has;
}

}  // namespace tandem
