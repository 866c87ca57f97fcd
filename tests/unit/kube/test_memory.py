import platform

from windlass.kube.memory import keep_buffers


def test_the_c_library_takes_the_setting_where_it_has_one() -> None:
    assert keep_buffers() is (platform.libc_ver()[0] == "glibc")
