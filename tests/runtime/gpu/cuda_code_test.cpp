// What nvcc made of the kernels: for which architectures, and without memory of a thread's own, which stands
// for registers that were not enough or for arrays that are indexed at run time. Needs no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "policies/vocabulary/stream_text.hpp"

namespace tandem {
namespace TANDEM_FILE {

/// Code for one architecture: a program (cubin, an ELF file) or PTX.
struct Code {
  bool is_program = false;
  bool is_compressed = false;
  std::uint32_t architecture = 0;
  std::string_view bytes;
};

template <class T>
T at(std::string_view bytes, std::size_t offset) {
  T value{};
  if (offset + sizeof value > bytes.size()) throw std::out_of_range("a table ends early");
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// The code of each source in a static library, in nvcc's containers (fatbin): a header of 16 bytes, then
/// pieces with a header and a size of their own.
std::vector<std::vector<Code>> codes_in(std::string_view library) {
  constexpr std::string_view magic("\x50\xed\x55\xba\x01\x00\x10\x00", 8);
  std::vector<std::vector<Code>> sources;
  for (auto found = library.find(magic); found != library.npos; found = library.find(magic, found + 1)) {
    const std::string_view container = library.substr(found + 16, at<std::uint64_t>(library, found + 8));
    auto& source = sources.emplace_back();
    for (std::size_t begin = 0; begin < container.size();) {
      const auto header = at<std::uint32_t>(container, begin + 4);
      const auto size = at<std::uint64_t>(container, begin + 8);
      source.push_back({.is_program = at<std::uint16_t>(container, begin) == 2,
                        .is_compressed = at<std::uint32_t>(container, begin + 16) != 0,
                        .architecture = at<std::uint32_t>(container, begin + 28),
                        .bytes = container.substr(begin + header, size)});
      begin += header + size;
    }
  }
  return sources;
}

/// A section of an ELF file.
struct Section {
  std::uint32_t name;
  std::uint32_t type;
  std::uint32_t link;
  std::string_view bytes;
};

std::vector<Section> sections_of(std::string_view elf) {
  const auto table = at<std::uint64_t>(elf, 40);
  const std::size_t entry = at<std::uint16_t>(elf, 58), count = at<std::uint16_t>(elf, 60);
  std::vector<Section> sections;
  for (std::size_t number = 0; number < count; ++number) {
    const std::size_t begin = table + number * entry;
    sections.push_back({at<std::uint32_t>(elf, begin), at<std::uint32_t>(elf, begin + 4),
                        at<std::uint32_t>(elf, begin + 40),
                        elf.substr(at<std::uint64_t>(elf, begin + 24), at<std::uint64_t>(elf, begin + 32))});
  }
  return sections;
}

std::string_view text_at(std::string_view texts, std::uint32_t begin) {
  return texts.substr(begin, texts.find('\0', begin) - begin);
}

/// Functions of a program whose frame has bytes. `functions`: incremented by all of them.
std::vector<std::string> functions_with_frames(std::string_view elf, int& functions) {
  constexpr std::uint32_t symbol_table = 2;
  constexpr std::size_t symbol_bytes = 24;
  constexpr std::uint8_t with_size = 4, frame_size = 0x11;
  const auto sections = sections_of(elf);
  const std::string_view names = sections.at(at<std::uint16_t>(elf, 62)).bytes;
  const auto is_symbols = [](const Section& section) { return section.type == symbol_table; };
  const auto symbols = std::find_if(sections.begin(), sections.end(), is_symbols);
  if (symbols == sections.end()) return {"no symbols"};
  std::vector<std::string> found;
  for (const Section& section : sections) {
    if (text_at(names, section.name) != ".nv.info") continue;
    for (std::size_t begin = 0; begin < section.bytes.size();) {
      const auto format = at<std::uint8_t>(section.bytes, begin);
      const auto attribute = at<std::uint8_t>(section.bytes, begin + 1);
      const auto size = format == with_size ? at<std::uint16_t>(section.bytes, begin + 2) : std::uint16_t{0};
      if (format == with_size && attribute == frame_size) {
        ++functions;
        const auto symbol = at<std::uint32_t>(section.bytes, begin + 4);
        const auto bytes = at<std::uint32_t>(section.bytes, begin + 8);
        const auto name = at<std::uint32_t>(symbols->bytes, symbol * symbol_bytes);
        if (bytes > 0)
          found.push_back(std::string(text_at(sections.at(symbols->link).bytes, name)) + ": " +
                          std::to_string(bytes) + " bytes");
      }
      begin += 4U + size;
    }
  }
  return found;
}

std::string library() {
  std::ifstream file(TANDEM_CUDA_LIBRARY, std::ios::binary);
  return rest_of(file);
}

/// The architectures of CMAKE_CUDA_ARCHITECTURES, "80-real,90": "sm_80" for a program, "compute_90" for PTX.
std::set<std::string> wanted_architectures() {
  std::set<std::string> wanted;
  std::istringstream list(TANDEM_CUDA_ARCHITECTURES);
  for (std::string item; std::getline(list, item, ',');) {
    const std::string number = item.substr(0, item.find('-'));
    if (!item.ends_with("-virtual")) wanted.insert("sm_" + number);
    if (!item.ends_with("-real")) wanted.insert("compute_" + number);
  }
  return wanted;
}

TEST(CudaCode, IsThereForEachArchitecture) {
  const std::string bytes = library();
  const auto sources = codes_in(bytes);
  ASSERT_GE(sources.size(), 4U);
  for (const auto& source : sources) {
    std::set<std::string> found;
    for (const Code& code : source)
      found.insert((code.is_program ? "sm_" : "compute_") + std::to_string(code.architecture));
    EXPECT_EQ(found, wanted_architectures());
  }
}

TEST(CudaCode, KernelsNeedNoMemoryOfTheirOwn) {
  const std::string bytes = library();
  int functions = 0;
  for (const auto& source : codes_in(bytes))
    for (const Code& code : source) {
      if (!code.is_program) continue;
      if (code.is_compressed) GTEST_SKIP() << "this nvcc compresses programs";
      for (const std::string& function : functions_with_frames(code.bytes, functions))
        // A division in double precision calls a function, which has a frame with some GPUs.
        if (!function.starts_with("$__internal"))
          ADD_FAILURE() << "sm_" << code.architecture << ' ' << function;
    }
  EXPECT_GT(functions, 50);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
