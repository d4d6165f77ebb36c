#include "workloads/data/trace_bytes.hpp"

#include <zstd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <vector>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

class PlainFile : public TraceBytes {
 public:
  explicit PlainFile(const std::string& path) : file_(path, std::ios::binary) {
    std::error_code error;
    bytes_ = std::filesystem::file_size(path, error);
    if (!file_ || error) throw ConfigError(path + ": expected a trace, found no file that can be read");
    if (bytes_ == 0) throw ConfigError(path + ": expected requests, found an empty file");
  }
  std::size_t read(std::span<char> bytes) override {
    file_.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    const auto count = static_cast<std::size_t>(file_.gcount());
    read_ += count;
    return count;
  }
  std::size_t size() const override { return bytes_; }
  double share_read() override { return static_cast<double>(read_) / static_cast<double>(bytes_); }

 private:
  std::ifstream file_;
  std::uint64_t bytes_ = 0;
  std::uint64_t read_ = 0;
};

class ZstdFile : public TraceBytes {
 public:
  explicit ZstdFile(const std::string& path)
      : path_(path),
        file_(path),
        stream_(ZSTD_createDStream(), ZSTD_freeDStream),
        packed_(ZSTD_DStreamInSize()) {
    // Traces are packed with long windows (zstd --ultra -22).
    constexpr int longest_window = 31;
    ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, longest_window);
  }
  std::size_t read(std::span<char> bytes) override {
    ZSTD_outBuffer out{bytes.data(), bytes.size(), 0};
    while (out.pos < out.size) {
      if (in_.pos == in_.size) {
        in_ = {packed_.data(), file_.read(packed_), 0};
        if (in_.size == 0) break;
      }
      expected_ = ZSTD_decompressStream(stream_.get(), &out, &in_);
      if (ZSTD_isError(expected_) != 0)
        throw ConfigError(path_ + ": expected a file packed by zstd, found " + ZSTD_getErrorName(expected_));
    }
    if (out.pos < out.size && expected_ != 0)
      throw ConfigError(path_ + ": expected a complete file packed by zstd, found a truncated one");
    return out.pos;
  }
  double share_read() override { return file_.share_read(); }

 private:
  std::string path_;
  PlainFile file_;
  std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream_;
  std::vector<char> packed_;
  ZSTD_inBuffer in_{nullptr, 0, 0};
  std::size_t expected_ = 0;  ///< 0: a frame is complete
};

}  // namespace

std::string without_compression(const std::string& path) {
  const auto at = path.rfind(".zst");
  if (at == std::string::npos) return path;
  const std::string rest = path.substr(at + 4);
  const bool is_level =
      rest.size() > 1 && rest[0] == '.' &&
      std::all_of(rest.begin() + 1, rest.end(), [](unsigned char c) { return std::isdigit(c); });
  return rest.empty() || is_level ? path.substr(0, at) : path;
}

std::unique_ptr<TraceBytes> open_trace(const std::string& path) {
  if (without_compression(path) != path) return std::make_unique<ZstdFile>(path);
  return std::make_unique<PlainFile>(path);
}

}  // namespace tandem
