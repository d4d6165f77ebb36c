#include "runtime/rank/nvml.hpp"

#include <dlfcn.h>

#include <array>

namespace tandem {
namespace {

/// Kinds of clocks, as NVML numbers them.
constexpr int processor_clock = 1;
constexpr int memory_clock = 2;
constexpr int gpu_sensor = 0;

/// What keeps a clock low: bits of nvmlDeviceGetCurrentClocksEventReasons, and their words in gpu_limits.
struct Reason {
  unsigned long long bit;
  const char* word;
};
constexpr std::array<Reason, 9> reasons = {{
    {0x1, "idle"},
    {0x2, "settings"},  // clocks of applications
    {0x4, "power"},
    {0x8, "hardware"},
    {0x10, "settings"},  // the clocks of other GPUs in a group
    {0x20, "thermal"},   // by the driver
    {0x40, "thermal"},   // by the GPU itself
    {0x80, "brake"},
    {0x100, "settings"},  // clocks of a display
}};

void add_word(std::string& words, const std::string& word) {
  if (words.find(word) != std::string::npos) return;
  words += (words.empty() ? "" : " ") + word;
}

}  // namespace

template <class Signature>
Signature* Nvml::function(const char* name) const {
  return library_ == nullptr ? nullptr : reinterpret_cast<Signature*>(dlsym(library_, name));
}

/// The value that a function of this name writes into its last argument; 0 if it is missing or fails.
template <class Number, class... Arguments>
Number Nvml::number(const char* name, Gpu gpu, Arguments... arguments) const {
  const auto ask = function<int(Gpu, Arguments..., Number*)>(name);
  Number value{};
  return ask != nullptr && ask(gpu, arguments..., &value) == 0 ? value : Number{};
}

Nvml::Nvml(const std::string& file_name) : library_(dlopen(file_name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr) {
    const char* const error = dlerror();
    why_none_ = error == nullptr ? file_name + " does not load" : error;
    return;
  }
  const auto init = function<int()>("nvmlInit_v2");
  const int code = init == nullptr ? -1 : init();
  is_ready_ = code == 0;
  if (init == nullptr)
    why_none_ = file_name + " has no nvmlInit_v2";
  else if (code != 0)
    why_none_ = "nvmlInit_v2 of " + file_name + " failed with code " + std::to_string(code);
}

Nvml::~Nvml() {
  if (is_ready_)
    if (const auto shutdown = function<int()>("nvmlShutdown")) shutdown();
  if (library_ != nullptr) dlclose(library_);
}

std::vector<Nvml::NamedGpu> Nvml::gpus() const {
  std::vector<NamedGpu> list;
  const auto count = function<int(unsigned*)>("nvmlDeviceGetCount_v2");
  const auto handle = function<int(unsigned, Gpu*)>("nvmlDeviceGetHandleByIndex_v2");
  const auto name = function<int(Gpu, char*, unsigned)>("nvmlDeviceGetName");
  unsigned devices = 0;
  if (!is_ready_ || !count || !handle || !name || count(&devices) != 0) return list;
  for (unsigned index = 0; index < devices; ++index) {
    Gpu gpu = nullptr;
    char text[96] = {};
    if (handle(index, &gpu) != 0 || name(gpu, text, sizeof(text)) != 0) continue;
    list.push_back({text, static_cast<std::int64_t>(memory(gpu).total)});
  }
  return list;
}

Nvml::Gpu Nvml::find(const std::string& address) const {
  const auto handle = function<int(const char*, Gpu*)>("nvmlDeviceGetHandleByPciBusId_v2");
  Gpu gpu = nullptr;
  if (!is_ready_ || !handle || handle(address.c_str(), &gpu) != 0) return nullptr;
  return gpu;
}

Nvml::Memory Nvml::memory(Gpu gpu) const { return number<Memory>("nvmlDeviceGetMemoryInfo", gpu); }

Nvml::Most Nvml::most(Gpu gpu) const {
  const auto clock = [&](int of) {
    return static_cast<int>(number<unsigned, int>("nvmlDeviceGetMaxClockInfo", gpu, of));
  };
  return {.clock_mhz = clock(processor_clock),
          .memory_clock_mhz = clock(memory_clock),
          .power_w = number<unsigned>("nvmlDeviceGetEnforcedPowerLimit", gpu) / 1e3,
          .memory_bytes = static_cast<std::int64_t>(memory(gpu).total)};
}

std::string Nvml::driver() const {
  const auto version = function<int(char*, unsigned)>("nvmlSystemGetDriverVersion");
  char text[96] = {};
  return is_ready_ && version && version(text, sizeof(text)) == 0 ? text : "";
}

std::string Nvml::limits(Gpu gpu) const {
  using Ask = int(Gpu, unsigned long long*);
  auto* ask = function<Ask>("nvmlDeviceGetCurrentClocksEventReasons");
  // Its name in drivers before 535.
  if (ask == nullptr) ask = function<Ask>("nvmlDeviceGetCurrentClocksThrottleReasons");
  unsigned long long bits = 0;
  if (ask == nullptr || ask(gpu, &bits) != 0) return "unknown";
  std::string words;
  for (const Reason& reason : reasons) {
    if ((bits & reason.bit) != 0) add_word(words, reason.word);
    bits &= ~reason.bit;
  }
  // Newer drivers may have further ones.
  if (bits != 0) add_word(words, "unknown");
  return words;
}

GpuRecord Nvml::state(Gpu gpu) const {
  const auto clock = [&](int of) {
    return static_cast<int>(number<unsigned, int>("nvmlDeviceGetClockInfo", gpu, of));
  };
  return {
      .clock_mhz = clock(processor_clock),
      .memory_clock_mhz = clock(memory_clock),
      .power_w = number<unsigned>("nvmlDeviceGetPowerUsage", gpu) / 1e3,
      .temperature_c = static_cast<int>(number<unsigned, int>("nvmlDeviceGetTemperature", gpu, gpu_sensor)),
      .memory_bytes = static_cast<std::int64_t>(memory(gpu).used),
      .limits = limits(gpu)};
}

}  // namespace tandem
