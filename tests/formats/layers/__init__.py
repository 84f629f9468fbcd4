"""The records of OpenVINO's layers, held against openvino itself."""
