#include "workloads/data/zip_check.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace tandem {
namespace {

constexpr std::uint64_t in_extra_field = 0xFFFFFFFF;

struct ZipError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Entry {
  std::string name;
  std::uint64_t method;
  std::uint64_t checksum;
  std::uint64_t packed_size;
  std::uint64_t size;
  std::uint64_t header;  ///< position of its local header
};

/// Little-endian numbers of a block of the file.
class Block {
 public:
  explicit Block(std::string bytes) : bytes_(std::move(bytes)) {}
  std::size_t size() const { return bytes_.size(); }
  std::uint64_t number(std::size_t at, std::size_t width) const {
    if (at + width > bytes_.size()) throw ZipError("a record is truncated");
    std::uint64_t value = 0;
    for (std::size_t i = width; i > 0; --i)
      value = value << 8 | static_cast<unsigned char>(bytes_[at + i - 1]);
    return value;
  }
  std::string text(std::size_t at, std::size_t length) const {
    if (at + length > bytes_.size()) throw ZipError("a record is truncated");
    return bytes_.substr(at, length);
  }
  std::size_t last(std::string_view signature) const { return bytes_.rfind(signature); }

 private:
  std::string bytes_;
};

class Archive {
 public:
  explicit Archive(const std::string& path) : file_(path, std::ios::binary) {
    std::error_code error;
    size_ = std::filesystem::file_size(path, error);
    if (error || !file_) throw ZipError("it cannot be read");
  }

  void check() {
    const auto [begin, bytes] = directory();
    const Block block = read(begin, bytes);
    std::size_t at = 0;
    bool is_empty = true;
    for (; at + 4 <= block.size() && block.number(at, 4) == 0x02014B50; is_empty = false) {
      const std::size_t name = block.number(at + 28, 2), extra = block.number(at + 30, 2);
      check_entry(entry_at(block, at, name, extra));
      at += 46 + name + extra + block.number(at + 32, 2);
    }
    if (is_empty || at != block.size()) throw ZipError("its directory is damaged");
  }

 private:
  struct Stretch {
    std::uint64_t begin;
    std::uint64_t size;
  };

  Block read(std::uint64_t begin, std::uint64_t bytes) {
    if (bytes > size_ || begin > size_ - bytes) throw ZipError("it is truncated");
    std::string text(bytes, '\0');
    file_.seekg(static_cast<std::streamoff>(begin));
    file_.read(text.data(), static_cast<std::streamsize>(bytes));
    if (!file_) throw ZipError("it cannot be read");
    return Block(std::move(text));
  }

  /// Where the directory of entries is, by the record at the end of the file.
  Stretch directory() {
    constexpr std::uint64_t longest_end = 22 + 65535;
    const std::uint64_t tail = std::min(size_, longest_end);
    const Block block = read(size_ - tail, tail);
    const std::size_t end = block.last("PK\x05\x06");
    if (end == std::string::npos) throw ZipError("it is not a ZIP archive, or it is truncated");
    if (block.number(end + 16, 4) != in_extra_field && block.number(end + 12, 4) != in_extra_field)
      return {block.number(end + 16, 4), block.number(end + 12, 4)};
    if (end < 20) throw ZipError("its ZIP64 record is missing");
    const Block large = read(block.number(end - 20 + 8, 8), 56);
    if (large.number(0, 4) != 0x06064B50) throw ZipError("its ZIP64 record is damaged");
    return {large.number(48, 8), large.number(40, 8)};
  }

  static Entry entry_at(const Block& block, std::size_t at, std::size_t name, std::size_t extra) {
    Entry entry{.name = block.text(at + 46, name),
                .method = block.number(at + 10, 2),
                .checksum = block.number(at + 16, 4),
                .packed_size = block.number(at + 20, 4),
                .size = block.number(at + 24, 4),
                .header = block.number(at + 42, 4)};
    // Numbers that do not fit stand in the ZIP64 field, in this order.
    const std::size_t begin = at + 46 + name;
    for (std::size_t field = begin; field + 4 <= begin + extra;) {
      const std::size_t id = block.number(field, 2), bytes = block.number(field + 2, 2);
      std::size_t next = field + 4;
      if (id == 1)
        for (std::uint64_t* number : {&entry.size, &entry.packed_size, &entry.header})
          if (*number == in_extra_field) {
            *number = block.number(next, 8);
            next += 8;
          }
      field += 4 + bytes;
    }
    return entry;
  }

  void check_entry(const Entry& entry) {
    const Block header = read(entry.header, 30);
    if (header.number(0, 4) != 0x04034B50 || header.number(8, 2) != entry.method)
      throw ZipError("the header of '" + entry.name + "' is damaged");
    const std::uint64_t begin = entry.header + 30 + header.number(26, 2) + header.number(28, 2);
    if (read(entry.header + 30, header.number(26, 2)).text(0, header.number(26, 2)) != entry.name)
      throw ZipError("the header of '" + entry.name + "' has another name");
    if (begin > size_ || entry.packed_size > size_ - begin)
      throw ZipError("'" + entry.name + "' is truncated");
    const bool is_stored = entry.method == 0;
    if (!is_stored && entry.method != Z_DEFLATED)
      throw ZipError("'" + entry.name + "' is packed by method " + std::to_string(entry.method));
    if (is_stored && entry.packed_size != entry.size)
      throw ZipError("the sizes of '" + entry.name + "' differ");
    const auto [size, checksum] = is_stored ? sum_stored(begin, entry.size) : sum_deflated(begin, entry);
    if (size != entry.size || checksum != entry.checksum)
      throw ZipError("the checksum of '" + entry.name + "' is wrong");
  }

  struct Sum {
    std::uint64_t size = 0;
    std::uint64_t checksum = crc32(0, nullptr, 0);
    void add(const unsigned char* bytes, std::size_t count) {
      size += count;
      checksum = crc32(static_cast<uLong>(checksum), bytes, static_cast<uInt>(count));
    }
  };

  std::size_t next_chunk(std::uint64_t rest) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(rest, chunk_.size()));
    file_.read(reinterpret_cast<char*>(chunk_.data()), static_cast<std::streamsize>(count));
    if (!file_) throw ZipError("it cannot be read");
    return count;
  }

  Sum sum_stored(std::uint64_t begin, std::uint64_t bytes) {
    Sum sum;
    file_.seekg(static_cast<std::streamoff>(begin));
    while (sum.size < bytes) sum.add(chunk_.data(), next_chunk(bytes - sum.size));
    return sum;
  }

  Sum sum_deflated(std::uint64_t begin, const Entry& entry) {
    Sum sum;
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw ZipError("zlib cannot unpack it");
    std::vector<unsigned char> unpacked(chunk_.size());
    file_.seekg(static_cast<std::streamoff>(begin));
    int status = Z_OK;
    std::uint64_t rest = entry.packed_size;
    try {
      while (status == Z_OK && rest > 0) {
        stream.avail_in = static_cast<uInt>(next_chunk(rest));
        stream.next_in = chunk_.data();
        rest -= stream.avail_in;
        while (status == Z_OK && (stream.avail_in > 0 || stream.avail_out == 0) && sum.size <= entry.size) {
          stream.next_out = unpacked.data();
          stream.avail_out = static_cast<uInt>(unpacked.size());
          status = inflate(&stream, Z_NO_FLUSH);
          sum.add(unpacked.data(), unpacked.size() - stream.avail_out);
        }
        if (sum.size > entry.size) break;
      }
    } catch (const ZipError&) {
      inflateEnd(&stream);
      throw;
    }
    inflateEnd(&stream);
    if (status != Z_STREAM_END) throw ZipError("'" + entry.name + "' cannot be unpacked");
    return sum;
  }

  std::ifstream file_;
  std::uint64_t size_ = 0;
  std::vector<unsigned char> chunk_ = std::vector<unsigned char>(std::size_t{1} << 20);
};

}  // namespace

std::optional<std::string> find_zip_error(const std::string& path) {
  try {
    Archive(path).check();
    return std::nullopt;
  } catch (const ZipError& error) {
    return error.what();
  }
}

}  // namespace tandem
