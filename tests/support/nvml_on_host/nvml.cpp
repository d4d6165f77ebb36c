// A stand-in for NVML, built as a library of its own, which a process loads instead of the driver's. It knows
// the GPU 0 of emulated CUDA. NVML_ON_HOST_LIMITS in the environment are the bits of what keeps the clocks
// low, NVML_ON_HOST_INIT the code of nvmlInit_v2. With NVML_ON_HOST_OLD it is that of an old driver and a GPU
// that does not measure its power: newer functions are missing, and others fail.
#include <cstdlib>
#include <cstring>

namespace {

constexpr int success = 0;
constexpr int not_found = 6;
constexpr int not_supported = 3;
constexpr int not_initialised = 1;
constexpr int memory_clock = 2;

bool is_ready = false;
int gpu = 0;

unsigned long long number_of_environment(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 0);
}

int check(const void* device) {
  if (!is_ready) return not_initialised;
  return device == &gpu ? success : not_found;
}

template <class Number>
int give(const void* device, Number value, Number* to) {
  const int code = check(device);
  if (code == success) *to = value;
  return code;
}

unsigned long long limits() { return number_of_environment("NVML_ON_HOST_LIMITS"); }
/// Bits that are neither "idle" nor "settings".
bool is_throttled() { return (limits() & 0xecU) != 0; }

}  // namespace

// NOLINTBEGIN: NVML's names.
struct nvmlMemory_t {
  unsigned long long total, free, used;
};

extern "C" {
int nvmlInit_v2() {
  const int code = static_cast<int>(number_of_environment("NVML_ON_HOST_INIT"));
  is_ready = code == success;
  return code;
}
int nvmlShutdown() {
  is_ready = false;
  return success;
}
int nvmlSystemGetDriverVersion(char* text, unsigned) {
  std::strcpy(text, "580.65.06");
  return success;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 1;
  return success;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index != 0) return not_found;
  *device = &gpu;
  return success;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
  if (std::strcmp(address, "0000:01:00.0") != 0) return not_found;
  *device = &gpu;
  return success;
}
int nvmlDeviceGetName(void* device, char* text, unsigned) {
  std::strcpy(text, "CUDA on the host");
  return check(device);
}
int nvmlDeviceGetMemoryInfo(void* device, nvmlMemory_t* memory) {
  return give(device, {80'000'000'000, 79'000'000'000, 1'000'000'000}, memory);
}
int nvmlDeviceGetClockInfo(void* device, int clock, unsigned* mhz) {
  return give(device, clock == memory_clock ? 2619U : is_throttled() ? 1200U : 1980U, mhz);
}
int nvmlDeviceGetMaxClockInfo(void* device, int clock, unsigned* mhz) {
  return give(device, clock == memory_clock ? 2619U : 1980U, mhz);
}
int nvmlDeviceGetTemperature(void* device, int sensor, unsigned* celsius) {
  return sensor == 0 ? give(device, 64U, celsius) : not_supported;
}
#ifdef NVML_ON_HOST_OLD
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* bits) {
  return give(device, limits(), bits);
}
int nvmlDeviceGetPowerUsage(void*, unsigned*) { return not_supported; }
#else
int nvmlDeviceGetCurrentClocksEventReasons(void* device, unsigned long long* bits) {
  return give(device, limits(), bits);
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) { return give(device, 512'250U, milliwatts); }
int nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* milliwatts) {
  return give(device, 700'000U, milliwatts);
}
#endif
}
// NOLINTEND
