// Grids of blocks of threads. A block's threads run as fibers in turns: a fiber runs thread after thread until
// one of them waits, and then stays with that thread; so threads that never wait cost no change of stacks.
#include <algorithm>
#include <boost/context/fiber.hpp>
#include <boost/context/preallocated.hpp>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "cuda_on_host.hpp"
#include "cuda_runtime.h"
#include "policies/vocabulary/rng.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace tandem::cuda_on_host {
namespace {

constexpr std::size_t stack_bytes = 256 << 10;
constexpr unsigned warp_lanes = 32;

namespace context = boost::context;

/// A stack and the state of the thread that runs on it.
struct Fiber {
  std::unique_ptr<char[]> stack;
  context::fiber rest;  ///< what it has still to do; empty while it runs
  unsigned thread = 0;
  void* shadow = nullptr;  ///< the address sanitizer's data of a stack that is not in use
};

/// The stack of a fiber, which stays with it for the threads of other blocks.
struct KeptStack {
  void deallocate(const context::stack_context&) noexcept {}
};

struct Place {
  const char* file = nullptr;
  int line = 0;
};

struct Warp {
  unsigned arrived = 0;
  unsigned votes = 0;
  Place place;
  std::vector<Fiber*> waiting;
};

class Block {
 public:
  Block(unsigned threads, const std::function<void()>& body, Rng& random)
      : body_(body), order_(threads), warps_((threads + warp_lanes - 1) / warp_lanes), votes_(threads) {
    std::iota(order_.begin(), order_.end(), 0U);
    random.shuffle(order_);
    is_eager_ = random.below(2) == 1;
  }

  /// Whether all threads ended.
  bool run(std::vector<std::unique_ptr<Fiber>>& stacks);
  std::string failure() const { return failure_; }

  void wait_for_block(Place place);
  unsigned vote(bool vote, Place place);

 private:
  void begin(Fiber& fiber);
  void run_threads();
  void resume(Fiber& fiber);
  void leave();
  bool is_same(Place& first, Place place, bool is_first);

  const std::function<void()>& body_;
  std::vector<unsigned> order_;  ///< in which threads start
  std::size_t started_ = 0;
  std::size_t ended_ = 0;
  std::vector<Warp> warps_;
  std::vector<unsigned> votes_;  ///< the result for each thread
  std::vector<Fiber*> at_barrier_;
  Place barrier_;
  std::deque<Fiber*> ready_;
  /// If true, the thread released last continues first, so that a warp runs ahead up to the next barrier;
  /// else all threads advance evenly.
  bool is_eager_ = false;
  Fiber scheduler_;
  Fiber* running_ = nullptr;
  std::string failure_;
};

thread_local Block* current_block = nullptr;

void start_switch([[maybe_unused]] Fiber& from, [[maybe_unused]] const Fiber& to,
                  [[maybe_unused]] bool for_good) {
#if defined(__SANITIZE_ADDRESS__)
  // The scheduler runs on the OS thread's own stack; the first switch determines its bounds.
  static thread_local const void* scheduler_stack = nullptr;
  static thread_local std::size_t scheduler_bytes = 0;
  const bool leaves_scheduler = from.stack == nullptr;
  if (leaves_scheduler && scheduler_stack == nullptr) {
    pthread_attr_t attributes;
    pthread_getattr_np(pthread_self(), &attributes);
    void* bottom = nullptr;
    pthread_attr_getstack(&attributes, &bottom, &scheduler_bytes);
    pthread_attr_destroy(&attributes);
    scheduler_stack = bottom;
  }
  __sanitizer_start_switch_fiber(for_good ? nullptr : &from.shadow,
                                 to.stack ? static_cast<const void*>(to.stack.get()) : scheduler_stack,
                                 to.stack ? stack_bytes : scheduler_bytes);
#endif
}
void finish_switch([[maybe_unused]] Fiber* arrived) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(arrived == nullptr ? nullptr : arrived->shadow, nullptr, nullptr);
#endif
}

void Block::begin(Fiber& fiber) {
  context::stack_context stack;
  stack.sp = fiber.stack.get() + stack_bytes;
  stack.size = stack_bytes;
  fiber.rest = context::fiber(std::allocator_arg, context::preallocated(stack.sp, stack.size, stack), KeptStack(),
                              [this](context::fiber&& scheduler) {
                                finish_switch(nullptr);
                                scheduler_.rest = std::move(scheduler);
                                run_threads();
                                start_switch(*running_, scheduler_, true);
                                return std::move(scheduler_.rest);
                              });
}

void Block::run_threads() {
  while (started_ < order_.size()) {
    const unsigned thread = order_[started_++];
    running_->thread = thread;
    threadIdx.x = thread;
    body_();
    ++ended_;
  }
}

void Block::leave() {
  Fiber& own = *running_;
  start_switch(own, scheduler_, false);
  scheduler_.rest = std::move(scheduler_.rest).resume();
  finish_switch(&own);
}

void Block::resume(Fiber& fiber) {
  running_ = &fiber;
  threadIdx.x = fiber.thread;
  start_switch(scheduler_, fiber, false);
  fiber.rest = std::move(fiber.rest).resume();
  finish_switch(&scheduler_);
}

bool Block::run(std::vector<std::unique_ptr<Fiber>>& stacks) {
  current_block = this;
  std::size_t used = 0;
  while (failure_.empty() && (started_ < order_.size() || !ready_.empty())) {
    if (!ready_.empty()) {
      Fiber& next = is_eager_ ? *ready_.back() : *ready_.front();
      is_eager_ ? ready_.pop_back() : ready_.pop_front();
      resume(next);
      continue;
    }
    if (used == stacks.size()) {
      stacks.push_back(std::make_unique<Fiber>());
      stacks.back()->stack.reset(new char[stack_bytes]);
    }
    Fiber& fiber = *stacks[used++];
    begin(fiber);
    resume(fiber);
  }
  current_block = nullptr;
  if (failure_.empty() && ended_ < order_.size())
    failure_ = std::to_string(ended_) + " threads ended while others wait for them";
  return failure_.empty();
}

bool Block::is_same(Place& first, Place place, bool is_first) {
  if (is_first) first = place;
  if (first.line == place.line && first.file == place.file) return true;
  failure_ = "threads wait for each other at different places: line " + std::to_string(first.line) +
             " and line " + std::to_string(place.line);
  return false;
}

void Block::wait_for_block(Place place) {
  const bool goes_on = is_same(barrier_, place, at_barrier_.empty());
  if (goes_on && at_barrier_.size() + 1 == order_.size()) {
    ready_.insert(ready_.end(), at_barrier_.begin(), at_barrier_.end());
    at_barrier_.clear();
    return;
  }
  at_barrier_.push_back(running_);
  leave();
}

unsigned Block::vote(bool vote, Place place) {
  const unsigned thread = running_->thread;
  Warp& warp = warps_[thread / warp_lanes];
  const bool goes_on = is_same(warp.place, place, warp.arrived == 0);
  if (vote) warp.votes |= 1U << (thread % warp_lanes);
  if (goes_on && ++warp.arrived == warp_lanes) {
    for (const Fiber* other : warp.waiting) votes_[other->thread] = warp.votes;
    votes_[thread] = warp.votes;
    ready_.insert(ready_.end(), warp.waiting.begin(), warp.waiting.end());
    warp = {};
    return votes_[thread];
  }
  warp.waiting.push_back(running_);
  leave();
  return votes_[thread];
}

thread_local std::string failure_text;

}  // namespace

void block_barrier(const char* file, int line) { current_block->wait_for_block({file, line}); }

unsigned warp_ballot(unsigned mask, bool vote, const char* file, int line) {
  // The kernels never use a partial warp mask.
  if (mask != 0xffffffffU) std::abort();
  return current_block->vote(vote, {file, line});
}

std::string last_failure() { return failure_text; }

namespace {

/// Whether all blocks ended.
bool run_grid(const cudaLaunchConfig_t& config, const Settings& own, const std::function<void()>& thread) {
  static thread_local std::vector<std::unique_ptr<Fiber>> stacks;
  Rng random(own.seed);
  gridDim = config.gridDim;
  blockDim = config.blockDim;
  std::vector<unsigned> blocks = {0, config.gridDim.x - 1};
  if (!own.only_outer_blocks || config.gridDim.x == 1) {
    blocks.resize(config.gridDim.x);
    std::iota(blocks.begin(), blocks.end(), 0U);
  }
  random.shuffle(blocks);
  for (const unsigned number : blocks) {
    blockIdx.x = number;
    Block block(config.blockDim.x, thread, random);
    if (block.run(stacks)) continue;
    failure_text = block.failure();
    stacks.clear();
    return false;
  }
  return true;
}

}  // namespace

cudaError_t launch(const cudaLaunchConfig_t& config, std::function<void()> thread) {
  if (const cudaError_t error = begin_call("cudaLaunchKernelEx"); error != cudaSuccess) return error;
  const unsigned threads = config.blockDim.x;
  if (config.gridDim.x == 0 || threads == 0 || threads > 1024 || threads % warp_lanes != 0)
    return cudaErrorInvalidValue;
  note_launch();
  const Settings own = settings();
  if (is_default(config.stream)) return run_grid(config, own, thread) ? cudaSuccess : cudaErrorLaunchFailure;
  return submit(config.stream, [config, own, thread = std::move(thread)] {
    if (run_grid(config, own, thread)) return;
    // No caller waits here that could receive the error.
    std::fprintf(stderr, "CUDA on the host: %s\n", failure_text.c_str());
    std::abort();
  });
}

}  // namespace tandem::cuda_on_host
