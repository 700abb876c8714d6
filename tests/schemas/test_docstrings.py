import pytest

from toolrt.schemas.docstrings import Docstring, read_docstring

GOOGLE = """Forecast for a city.

    Up to 14 days ahead.

    Args:
        city (str): City
            name.
        *days: Days: each one.

    Returns:
        dict: The forecast.
    """
NUMPY = """Forecast for a city.

    Up to 14 days ahead.

    Parameters
    ----------
    city : str
        City name.
    x, y : int
        Place.

    Returns
    -------
    dict
        The forecast.
    """
SPHINX = """Forecast for a city.

    Up to 14 days ahead.

    :param city: City
        name.
    :param int days: Days.
    :returns: The forecast.
    """
EPYDOC = """Forecast for a city.

    Up to 14 days ahead.

    @param city: City name.
    """
WORDS = "Forecast for a city.\n\nUp to 14 days ahead."


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        pytest.param(GOOGLE, {"city": "City name.", "days": "Days: each one."}, id="google"),
        pytest.param(NUMPY, {"city": "City name.", "x": "Place.", "y": "Place."}, id="numpy"),
        pytest.param(SPHINX, {"city": "City name.", "days": "Days."}, id="sphinx"),
        pytest.param(EPYDOC, {"city": "City name."}, id="epydoc"),
    ],
)
def test_u28_every_style_gives_description_and_parameters(text, parameters):
    assert read_docstring(text) == Docstring(WORDS, parameters)


def test_text_without_sections_is_the_description_as_it_is():
    text = "Size: of a thing.\n\n    Note:\n        In bytes.\n    "

    assert read_docstring(text).description == "Size: of a thing.\n\nNote:\n    In bytes."


@pytest.mark.parametrize("text", [None, "", "   \n "])
def test_no_text_is_no_description(text):
    assert read_docstring(text) == Docstring()


def test_text_that_does_not_parse_is_the_description():
    text = "Do.\n\nArgs:\n  - broken"

    assert read_docstring(text) == Docstring(text)


@pytest.mark.parametrize(
    "text",
    [
        "\n    Args:\n        a: The a.\n        b: The b.\n    ",
        "\n    Parameters\n    ----------\n    a : int\n        The a.\n    b\n        The b.\n    ",
        ":param a: The a.\n:param b: The b.",
    ],
)
def test_a_docstring_of_sections_alone_describes_the_parameters(text):
    assert read_docstring(text) == Docstring(None, {"a": "The a.", "b": "The b."})
