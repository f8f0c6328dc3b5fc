"""`make test-versions` names each dependency of the packages, so that uv takes the lowest version of each."""

from tools.versions import PROJECT, WITH_NUMPY, list_dependencies


def test_each_dependency_is_named_and_no_tool():
    extras = PROJECT["optional-dependencies"]
    found = list_dependencies()
    assert {*PROJECT["dependencies"], *extras["collector"], *extras["pandas"], *extras["relay"]} <= set(found)
    assert not [each for each in found if each.startswith(("ldp-bayes", "pytest", "mypy"))]
    assert {each.partition(">")[0] for each in found} >= set(WITH_NUMPY)
