#include "gzip.h"

#include <zlib.h>

#include <stdexcept>

namespace safelaunch::report {

std::string gzip(std::string_view bytes) {
  constexpr int kGzip = MAX_WBITS + 16;  // zlib's way to ask for gzip's header
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, MAX_MEM_LEVEL,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string result(deflateBound(&stream, bytes.size()), '\0');
  // zlib takes no const input, and does not write to it.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  const int end = deflate(&stream, Z_FINISH);  // the bound has room for all of it
  result.resize(stream.total_out);
  deflateEnd(&stream);
  if (end != Z_STREAM_END) throw std::logic_error("zlib's own bound is too small");
  return result;
}

}  // namespace safelaunch::report
